// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// What `graphctl top` shows, made of daemons' statuses (ctl/hosts/server_status.h): their counters
// only grow, so two statuses say what was done between them.

namespace graphd::ctl {

// One machine's line: {"host", "server_name", "pid", "uptime_seconds", "rss_bytes",
// "tensor_bytes", "jobs", "trainers"} and, per second since `before`, {"seconds", "requests",
// "rows", "edges", "pushes", "bytes_sent"}, which are absent if `before` is null or the daemon was
// started anew since.
nlohmann::json MachineRates(const std::string& host, const nlohmann::json& before,
                            const nlohmann::json& after);

// A table of such lines and, for a machine that did not answer, {"host", "error"}. A line per
// machine after the heading, no control characters.
std::vector<std::string> RatesTable(const nlohmann::json& machines);

}  // namespace graphd::ctl
