// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"

// The nodes of all types in one sequence, for partitioning methods that ignore types: node i of
// type t is first(t) + i. A value; safe to share between threads.

namespace graphd {

class NodeSequence {
 public:
  explicit NodeSequence(const RawGraph& graph) : first_{0} {
    for (const RawNodes& nodes : graph.nodes) {
      first_.push_back(first_.back() + static_cast<uint64_t>(nodes.count));
    }
  }

  size_t size() const noexcept { return first_.back(); }
  size_t first(NodeTypeId t) const { return first_.at(static_cast<size_t>(t)); }

  // Calls f(edge type, stored edge, source, destination) for every stored edge that is not a self
  // loop.
  template <class F>
  void ForEachPair(const RawGraph& graph, F&& f) const {
    for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
      const uint64_t src = first(graph.schema.src_type(e)), dst = first(graph.schema.dst_type(e));
      graph.edges[static_cast<size_t>(e)].ForEachStored([&](size_t i, uint64_t u, uint64_t v) {
        if (src + u != dst + v) f(e, i, src + u, dst + v);
      });
    }
  }

  // Splits `owner`, which has the partition of each node by its position in the sequence, by type.
  template <class Part>
  NodeOwners SplitByType(const std::vector<Part>& owner) const {
    NodeOwners owners;
    for (size_t t = 0; t + 1 < first_.size(); t++) {
      owners.emplace_back(owner.begin() + static_cast<std::ptrdiff_t>(first_[t]),
                          owner.begin() + static_cast<std::ptrdiff_t>(first_[t + 1]));
    }
    return owners;
  }

 private:
  std::vector<uint64_t> first_;  // by type, plus the total
};

}  // namespace graphd
