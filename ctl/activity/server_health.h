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
// state "ready" alone. "degraded" lists the reasons why the daemon can't do all that it should;
// "pages" has the bytes of partitions by the kind of their pages.
nlohmann::json MachineHealth(const std::string& host, const nlohmann::json& status);

// Returns a table of the entries that MachineHealth returns. The entry of a machine that did not
// answer is {"host", "error", "denied"}. Below the table, there is a line for each reason why a
// machine is degraded, and a line for each drained machine. There are no control characters.
std::vector<std::string> HealthTable(const nlohmann::json& machines);

// Returns the exit code for these entries: the code of kUnavailable if there is no entry, or if one
// is neither ready nor "denied"; else 1 if one is degraded; else the code of kDenied if one is
// "denied"; else 0.
int HealthExitCode(const nlohmann::json& machines);

}  // namespace graphd::ctl
