// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "graphd/error.h"

// Functions by which `graphctl supervise` answers the graphctl that has started it ("the asker"),
// on standard output, and notices that the asker has gone, by the end of standard input.

namespace graphd::ctl {

// Sends a frame (ctl/hosts/frame_reader.h). Throws Error(kIo).
void SendFrame(const nlohmann::json& header, std::string_view payload = {});

// Sends an error, unless the asker has gone, and returns the exit code of the error.
int SendError(const Error& error) noexcept;

// Waits for this time. Returns false if the asker has gone.
bool PauseWhileAsked(int milliseconds);

}  // namespace graphd::ctl
