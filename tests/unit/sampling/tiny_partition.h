// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "graph/partition.h"

// Functions for making partitions in memory, edge by edge.

namespace graphd::testing {

// Returns a 1-D tensor of the values.
template <class T>
Tensor Column(const std::vector<T>& values) {
  Tensor tensor = Tensor::Empty(DTypeOf<T>(), {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); i++) tensor.template as<T>()[i] = values[i];
  return tensor;
}

// Partition 1 of 2 of a graph with node types "from" and "to" and the edge type from:edge:to, whose
// first ids belong to partition 0, so that no id equals its row.
struct TinyGraph {
  static constexpr int64_t kFirstNode = 10;   // first id of "to"
  static constexpr int64_t kFirstEdge = 100;  // type-wise id of local edge row 0

  int64_t num_sources = 0;                               // "from" nodes of the whole graph
  std::vector<std::vector<uint64_t>> rows;               // sources of each "to" node's edges
  std::vector<uint64_t> edge_rows;                       // by slot; empty: edge row == slot
  bool wide = false;                                     // 64-bit arrays
  std::vector<std::pair<std::string, Tensor>> features;  // edge features, by edge row

  std::shared_ptr<const Partition> Build() const;
};

// Returns a graph with a single row, which has the sources 0 .. degree-1.
TinyGraph Star(uint64_t degree);

}  // namespace graphd::testing
