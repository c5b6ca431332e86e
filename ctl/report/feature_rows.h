// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/statistics/graph_statistics.h"

namespace graphd::ctl {

// Returns a table in HTML of the features of a type, with a histogram and the most frequent values
// of each. If there are no features, returns a sentence that says so.
std::string FeatureTableHtml(const std::vector<FeatureStatistics>& features);

}  // namespace graphd::ctl
