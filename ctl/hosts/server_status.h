// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "client/link/control.h"

// Converts a daemon's status to JSON (for --json and for other hosts) and to text.

namespace graphd::ctl {

// Returns the status as JSON. It always fits into a frame (FrameReader), even if clients have sent
// the daemon many long texts: records of jobs that don't fit are left out. If `operations` is true,
// it also has the distributions of times. These take much room, so fewer records of jobs fit.
nlohmann::json StatusToJson(const ServerStatus& status, bool operations = false);
// Returns the status of the daemon behind a socket if it is still loading and does not answer
// requests yet, and otherwise nothing. The "state" is "loading", and the object "loading" has
// "done", "total" and "percent".
std::optional<nlohmann::json> LoadingStatusOf(const std::string& socket);

// Returns the text for one daemon with its partitions and jobs, indented under `host`. The JSON may
// come from a graphctl of another version: missing keys are shown as unknown.
std::string StatusToText(const std::string& host, const nlohmann::json& status);

}  // namespace graphd::ctl
