// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Computes the rates that `graphctl top` shows from daemons' statuses (ctl/hosts/server_status.h).
// The counters of a daemon only grow, so the difference of two statuses shows what it did between
// them.

namespace graphd::ctl {

// Returns the seconds between two statuses; 0 if `before` is null or from another process than
// `after`.
double SecondsBetween(const nlohmann::json& before, const nlohmann::json& after);

// Returns a rate in a few characters: "7.3", "4502", "1235k".
std::string RateText(double value);

// Returns one machine's line: {"host", "server_name", "pid", "uptime_seconds", "rss_bytes",
// "tensor_bytes", "jobs", "trainers"} and, per second since `before`, {"seconds", "requests",
// "rows", "edges", "pushes", "bytes_sent", "rows_cached", "rows_not_cached", "mapped_calls",
// "mapped_rows", "mapped_bytes", "mapped_edges", "job_rates": for each job that was attached at
// both times, {"job", "mapped_calls", ...}}. The members with rates are absent if `before` is null
// or the daemon was restarted since. No rate is negative.
nlohmann::json MachineRates(const std::string& host, const nlohmann::json& before,
                            const nlohmann::json& after);

// Returns a table of such lines; a machine that did not answer has {"host", "error"} instead, and a
// machine that is loading its graph also has "loading". Each machine has one line below the
// heading. If the table is wider than `width`, AlignTable divides it into parts, and each machine
// has one line in each part. There are no control characters.
std::vector<std::string> RatesTable(const nlohmann::json& machines, size_t width = SIZE_MAX);

}  // namespace graphd::ctl
