// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/statistics/graph_statistics.h"
#include "format/config/part_config.h"

namespace graphd::ctl {

// Returns a page of HTML with tables and plots of the statistics: partitions, balance, cut, degrees
// and features. It contains no script and refers to nothing outside itself; all texts of the graph
// are escaped.
std::string GraphReport(const PartConfig& config, const GraphStatistics& statistics);

}  // namespace graphd::ctl
