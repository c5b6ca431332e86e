// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "ctl/statistics/graph_statistics.h"

namespace graphd::ctl {

// Return the largest partition over the average, 1 if all are even, of the nodes, edges and bytes
// of all types, and of the objects of one type. Unset if not all partitions were read.
std::optional<double> NodeBalance(const GraphStatistics& statistics);
std::optional<double> EdgeBalance(const GraphStatistics& statistics);
std::optional<double> ByteBalance(const GraphStatistics& statistics);
std::optional<double> TypeBalance(const GraphStatistics& statistics,
                                  const std::vector<int64_t>& by_part);

}  // namespace graphd::ctl
