// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/statistics/graph_statistics.h"

namespace graphd::ctl {

// Returns the statistics as tables of text, ending with a line break.
std::string StatisticsToText(const GraphStatistics& statistics);

}  // namespace graphd::ctl
