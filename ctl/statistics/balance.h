// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "ctl/statistics/graph_statistics.h"

namespace graphd::ctl {

// Return the size of the largest partition divided by the average size, which is 1 if all
// partitions are equal. NodeBalance and EdgeBalance count nodes and edges of all types, ByteBalance
// counts bytes, and TypeBalance counts the objects of one type. Return nothing if not all
// partitions were read.
std::optional<double> NodeBalance(const GraphStatistics& statistics);
std::optional<double> EdgeBalance(const GraphStatistics& statistics);
std::optional<double> ByteBalance(const GraphStatistics& statistics);
std::optional<double> TypeBalance(const GraphStatistics& statistics,
                                  const std::vector<int64_t>& by_part);

}  // namespace graphd::ctl
