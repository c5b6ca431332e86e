// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "client/link/control.h"

// Converts a daemon's status to JSON (for --json and for other hosts) and to text.

namespace graphd::ctl {

// Returns the status as JSON that fits into a frame (FrameReader), however much clients have told
// the daemon. With `operations`, it also has the distributions of times; because these are many
// numbers, there is room for fewer records of jobs.
nlohmann::json StatusToJson(const ServerStatus& status, bool operations = false);
// Returns the status of a daemon that is still loading and does not answer requests yet; nothing if
// there is no such daemon behind the socket. The "state" is "loading", and the object "loading" has
// "done", "total" and "percent".
std::optional<nlohmann::json> LoadingStatusOf(const std::string& socket);

// Returns the text for one daemon with its partitions and jobs, indented under `host`. The JSON may
// come from a graphctl of another version: missing keys are shown as unknown.
std::string StatusToText(const std::string& host, const nlohmann::json& status);

}  // namespace graphd::ctl
