// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "daemon/metrics/families.h"
#include "daemon/metrics/server_numbers.h"

namespace graphd {

// Adds the metrics of a daemon; graphd(8) lists them. No label has a text that a client has chosen,
// such as the name of a job or of a tensor, because anybody may scrape, whatever their role, and
// because the number of time series must not grow with the jobs.
void AddServerMetrics(const ServerNumbers& numbers, FamilyBuilder& to);

// Adds the metric of the daemon's state: "loading", "ready" or "draining".
void AddStateMetric(const std::string& state, FamilyBuilder& to);
// Adds the progress of loading the partitions: how many bytes are in memory, and how many will be.
void AddLoading(const std::string& server_name, std::pair<uint64_t, uint64_t> bytes,
                FamilyBuilder& to);

}  // namespace graphd
