// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "graphd/error.h"

// The answers of `graphctl supervise` to the graphctl that has started it, on standard output, and
// whether that is still there, which standard input tells.

namespace graphd::ctl {

// Sends a frame (ctl/hosts/frame_reader.h). Throws Error(kIo).
void SendFrame(const nlohmann::json& header, std::string_view payload = {});

// Sends an error, unless whoever asked has gone, and returns its exit code.
int SendError(const Error& error) noexcept;

// Waits a moment. Returns false if whoever asked has gone.
bool PauseWhileAsked(int milliseconds);

}  // namespace graphd::ctl
