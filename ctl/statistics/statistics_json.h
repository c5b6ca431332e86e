// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "ctl/statistics/graph_statistics.h"

namespace graphd::ctl {

// Returns the statistics as `graphctl inspect --statistics --json` prints them; graphctl-inspect(1)
// has the meaning of the members. Texts need not be UTF-8.
nlohmann::ordered_json StatisticsToJson(const GraphStatistics& statistics);

}  // namespace graphd::ctl
