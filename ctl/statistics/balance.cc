// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/balance.h"

#include "format/partition/balance_targets.h"

namespace graphd::ctl {

std::optional<double> TypeBalance(const GraphStatistics& statistics,
                                  const std::vector<int64_t>& by_part) {
  if (static_cast<int32_t>(statistics.parts.size()) != statistics.num_parts) return std::nullopt;
  return Imbalance(by_part);
}

std::optional<double> NodeBalance(const GraphStatistics& statistics) {
  std::vector<int64_t> shares;
  for (size_t i = 0; i < statistics.parts.size(); i++) shares.push_back(statistics.nodes_in(i));
  return TypeBalance(statistics, shares);
}

std::optional<double> EdgeBalance(const GraphStatistics& statistics) {
  std::vector<int64_t> shares;
  for (size_t i = 0; i < statistics.parts.size(); i++) shares.push_back(statistics.edges_in(i));
  return TypeBalance(statistics, shares);
}

std::optional<double> ByteBalance(const GraphStatistics& statistics) {
  return TypeBalance(statistics, {statistics.bytes.begin(), statistics.bytes.end()});
}

}  // namespace graphd::ctl
