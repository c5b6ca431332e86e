// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "daemon/metrics/server_numbers.h"

namespace graphd {

// Daemons describe themselves to the page for people by a JSON object, which /status answers: their
// state, sums, and their jobs by their ids, without graphctl's own. It has no command, no secret
// and no name of a tensor. Each process has an `id` of its own.

// Returns the document of a daemon that serves. Names the kMostListedJobs jobs that are the oldest,
// and of each the kMostListedHosts hosts with the most trainers.
std::string DocumentOf(const ServerNumbers& numbers);
// Returns that of a daemon that loads: how many bytes of its partitions are in memory, and how many
// will be.
std::string DocumentWhileLoading(const std::string& server_name,
                                 std::pair<uint64_t, uint64_t> bytes);

inline constexpr size_t kMostListedJobs = 64, kMostListedHosts = 8;

}  // namespace graphd
