// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Computes the rates that `graphctl top` shows from daemons' statuses (ctl/hosts/server_status.h).
// Their counters only grow, so two statuses tell what was done between them.

namespace graphd::ctl {

// Returns one machine's line: {"host", "server_name", "pid", "uptime_seconds", "rss_bytes",
// "tensor_bytes", "jobs", "trainers"} and, per second since `before`, {"seconds", "requests",
// "rows", "edges", "pushes", "bytes_sent", "rows_cached", "rows_not_cached"}. The latter are absent
// if `before` is null or the daemon was restarted since.
nlohmann::json MachineRates(const std::string& host, const nlohmann::json& before,
                            const nlohmann::json& after);

// Returns a table of such lines and, for a machine that did not answer, {"host", "error"}. After
// the heading, each machine has one line, without control characters.
std::vector<std::string> RatesTable(const nlohmann::json& machines);

}  // namespace graphd::ctl
