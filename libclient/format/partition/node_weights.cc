// SPDX-License-Identifier: Apache-2.0
#include "format/partition/node_weights.h"

#include <algorithm>

namespace graphd {
namespace {

// Adds a weight to a list that is sorted by quantity.
void Add(std::vector<std::pair<uint32_t, uint64_t>>& list, uint32_t quantity, uint64_t weight) {
  const auto at = std::lower_bound(list.begin(), list.end(), std::pair(quantity, uint64_t{0}));
  if (at != list.end() && at->first == quantity) {
    at->second += weight;
  } else {
    list.emplace(at, quantity, weight);
  }
}

}  // namespace

NodeWeights::NodeWeights(const BalanceTargets& targets, size_t nodes)
    : targets_(&targets),
      size_(nodes),
      quantities_(targets.classes.size() * (targets.in_degrees.empty() ? 1 : 2)),
      node_quantities_(targets.classes.size()) {}

NodeWeights::NodeWeights(const NodeWeights& nodes, std::span<const uint32_t> cluster_of,
                         size_t clusters)
    : size_(clusters),
      quantities_(nodes.quantities_),
      node_quantities_(nodes.node_quantities_),
      counts_(clusters, 0) {
  for (size_t i = 0; i < nodes.size_; i++) counts_[cluster_of[i]] += nodes.nodes_in(i);
  if (quantities_ == 1) return;
  // The nodes in the order of their clusters; next[c] is where the next one of cluster c belongs.
  std::vector<uint64_t> next(clusters + 1, 0);
  for (size_t i = 0; i < nodes.size_; i++) next[cluster_of[i] + 1]++;
  for (size_t c = 0; c < clusters; c++) next[c + 1] += next[c];
  std::vector<uint32_t> order(nodes.size_);
  for (size_t i = 0; i < nodes.size_; i++) {
    order[next[cluster_of[i]]++] = static_cast<uint32_t>(i);
  }
  std::vector<std::pair<uint32_t, uint64_t>> list;  // Entries of one cluster
  const auto for_each_list = [&](auto&& f) {
    for (size_t c = 0, i = 0; c < clusters; c++) {
      list.clear();
      for (; i < next[c]; i++) {
        nodes.ForEach(order[i], [&](size_t quantity, uint64_t weight) {
          Add(list, static_cast<uint32_t>(quantity), weight);
        });
      }
      f();
    }
  };
  uint64_t entries = 0;  // counted first, because there may be one for each node
  for_each_list([&] { entries += list.size(); });
  entries_.reserve(entries);
  ends_.reserve(clusters);
  for_each_list([&] {
    entries_.insert(entries_.end(), list.begin(), list.end());
    ends_.push_back(entries_.size());
  });
}

std::vector<uint64_t> NodeWeights::Sums() const {
  std::vector<uint64_t> sums(quantities_, 0);
  for (size_t i = 0; i < size_; i++) {
    ForEach(i, [&](size_t quantity, uint64_t weight) { sums[quantity] += weight; });
  }
  return sums;
}

}  // namespace graphd
