// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/degree_counts.h"

#include <algorithm>
#include <bit>

namespace graphd::ctl {

void DegreeCounts::Add(const DegreeCounts& other) {
  for (size_t degree = 0; degree < small_.size(); degree++) small_[degree] += other.small_[degree];
  for (const auto& [degree, nodes] : other.large_) AddLarge(degree, nodes);
}

DegreeSummary DegreeCounts::Summary() const {
  DegreeSummary summary;
  std::vector<std::pair<uint64_t, uint64_t>> counts;  // (degree, nodes), ascending
  for (size_t degree = 0; degree < small_.size(); degree++) {
    if (small_[degree] > 0) counts.emplace_back(degree, small_[degree]);
  }
  counts.insert(counts.end(), large_.begin(), large_.end());
  if (counts.empty()) return summary;
  summary.min = counts.front().first;
  summary.max = counts.back().first;
  summary.zero = summary.min == 0 ? counts.front().second : 0;
  double edges = 0;
  for (const auto& [degree, nodes] : counts) {
    summary.nodes += nodes;
    edges += static_cast<double>(degree) * static_cast<double>(nodes);
    const auto bucket = static_cast<size_t>(std::bit_width(degree));
    summary.log2_histogram.resize(std::max(summary.log2_histogram.size(), bucket + 1));
    summary.log2_histogram[bucket] += nodes;
  }
  summary.mean = edges / static_cast<double>(summary.nodes);
  // If the number of nodes is even, the median is the mean of the two degrees in the middle.
  const uint64_t lower = (summary.nodes - 1) / 2, upper = summary.nodes / 2;
  uint64_t passed = 0;
  for (const auto& [degree, nodes] : counts) {
    for (const uint64_t middle : {lower, upper}) {
      if (passed <= middle && middle < passed + nodes) {
        summary.median += static_cast<double>(degree) / 2;
      }
    }
    passed += nodes;
  }
  return summary;
}

}  // namespace graphd::ctl
