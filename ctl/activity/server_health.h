// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Judges daemons by their statuses (ctl/hosts/server_status.h), for `graphctl status`.

namespace graphd::ctl {

// Returns one machine's entry: {"host", "server_name", "pid", "state", "ready", "degraded"} and,
// while the daemon loads, "loading", else "memory": {"rss_bytes", "graph_bytes", "tensor_bytes"},
// "pages", "partitions", "jobs", "trainers" and "drained". "state" is "loading", "ready", "drained"
// (it takes no new jobs until an operator says so) or "draining" (it stops); "ready" is true in the
// state "ready" alone. "degraded" lists why it can't do all that it should; "pages" has the bytes
// of partitions by the kind of their pages.
nlohmann::json MachineHealth(const std::string& host, const nlohmann::json& status);

// Returns a table of such entries and, for a machine that did not answer, {"host", "error",
// "denied"}; then a line for each reason why one is degraded, and for each that is drained, without
// control characters.
std::vector<std::string> HealthTable(const nlohmann::json& machines);

// Returns the exit code for such entries: that of kUnavailable if one is not ready or has an error
// but "denied", or if there is none; else 1 if one is degraded; else that of kDenied if one is
// "denied", else 0.
int HealthExitCode(const nlohmann::json& machines);

}  // namespace graphd::ctl
