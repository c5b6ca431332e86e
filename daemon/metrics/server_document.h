// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "daemon/metrics/server_numbers.h"

namespace graphd {

// A daemon describes itself to the page for people by a JSON object, which is the answer of
// /status. It has the daemon's state, totals, and its jobs under their ids, without graphctl's own
// jobs. It has no command, no secret and no name of a tensor. Its `id` differs for each process of
// a daemon.

// Returns the document of a daemon that serves. Lists the kMostListedJobs oldest jobs and, for each
// of them, the kMostListedHosts hosts with the most trainers.
std::string DocumentOf(const ServerNumbers& numbers);
// Returns the document of a daemon that loads: how many bytes of its partitions are in memory, and
// how many will be.
std::string DocumentWhileLoading(const std::string& server_name,
                                 std::pair<uint64_t, uint64_t> bytes);

inline constexpr size_t kMostListedJobs = 64, kMostListedHosts = 8;

}  // namespace graphd
