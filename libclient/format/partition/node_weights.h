// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "format/partition/balance_targets.h"

namespace graphd {

// The weights of a graph's nodes, or of clusters of its nodes, in the quantities of which
// partitions should have equal shares. With C classes, quantity c is the number of nodes of class c
// and, if edges are balanced, quantity C + c is the number of in-edges of these nodes. Immutable;
// safe to share between threads.
class NodeWeights {
 public:
  // The weights of single nodes. Keeps a reference to `targets`.
  NodeWeights(const BalanceTargets& targets, size_t nodes);
  // The sums over clusters: node i of `nodes` is in cluster cluster_of[i] < clusters. Unless nodes
  // are the only quantity, the constructor needs 4 bytes per node and 8 per cluster while it runs,
  // and the object keeps 8 bytes per cluster and 16 for each quantity of a cluster.
  NodeWeights(const NodeWeights& nodes, std::span<const uint32_t> cluster_of, size_t clusters);

  size_t size() const noexcept { return size_; }
  size_t quantities() const noexcept { return quantities_; }
  // Returns the number of quantities that count nodes. Quantities that count edges follow them.
  size_t node_quantities() const noexcept { return node_quantities_; }
  bool are_of_single_nodes() const noexcept { return targets_ != nullptr; }
  // Returns the number of nodes of the graph that a node or cluster stands for.
  uint32_t nodes_in(size_t node) const noexcept { return targets_ ? 1 : counts_[node]; }

  // Calls f(quantity, weight) for each quantity to which the node or cluster contributes, with its
  // contribution as the weight.
  template <class F>
  void ForEach(size_t node, F&& f) const {
    if (!targets_ && quantities_ == 1) return f(size_t{0}, uint64_t{counts_[node]});
    if (targets_) {
      const size_t c = targets_->ClassOf(node);
      f(c, uint64_t{1});
      if (!targets_->in_degrees.empty() && targets_->in_degrees[node] > 0) {
        f(targets_->classes.size() + c, uint64_t{targets_->in_degrees[node]});
      }
      return;
    }
    for (uint64_t i = node ? ends_[node - 1] : 0; i < ends_[node]; i++) {
      f(size_t{entries_[i].first}, entries_[i].second);
    }
  }

  // Returns the sum of each quantity.
  std::vector<uint64_t> Sums() const;

 private:
  const BalanceTargets* targets_ = nullptr;  // Null: the weights are those of clusters
  size_t size_, quantities_, node_quantities_;
  std::vector<uint32_t> counts_;  // by cluster: its nodes
  // Empty if nodes are the only quantity.
  std::vector<uint64_t> ends_;                          // by cluster, in entries_
  std::vector<std::pair<uint32_t, uint64_t>> entries_;  // quantity and weight
};

}  // namespace graphd
