// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "graph/partition.h"
#include "tests/unit/format/dgl_files.h"

// A small random heterogeneous graph that is partitioned here, by simple code, and written as DGL
// would write it. Tests compare the readers' results with it.

namespace graphd::test {

class HandMade {
 public:
  // Creates sizes[t][p] nodes of type t in partition p. Edge types: a:to:b, b:back:a, a:self:a;
  // each partition owns about `edges` of each type whose destination type it has.
  HandMade(std::vector<std::vector<int64_t>> sizes, int64_t edges, uint64_t seed);

  struct Edge {
    EdgeTypeId etype;
    int64_t src, dst;  // type-wise
    int64_t id;        // type-wise
    PartId owner;
  };

  const GraphMeta& meta() const { return meta_; }
  const std::vector<Edge>& edges() const { return edges_; }

  // Returns the graph.dgl of a partition: inner nodes first, then halo nodes; owned edges, then the
  // out-edges of inner nodes to halo nodes. `shuffled`: both in random local order.
  GraphFile Graph(PartId part, bool shuffled = false) const;
  // Return the features by local order of `graph`: node "id" (int64, the type-wise id), "b"
  // (bfloat16 of shape [2]), edge "id" (int64) and "flag" (uint8).
  std::vector<Column> NodeFeatures(PartId part, const GraphFile& graph) const;
  std::vector<Column> EdgeFeatures(PartId part, const GraphFile& graph) const;
  std::string PartConfigJson() const;

  // Writes all files: <folder>/hand.json and <folder>/part<i>/.
  void Write(const std::string& folder, int formats = kCoo, bool narrow = false,
             bool shuffled = false) const;

  // Compares a partition that was read with this graph. Returns the first difference, or "".
  std::string Check(const Partition& partition) const;

 private:
  std::vector<std::vector<int64_t>> sizes_;
  uint64_t seed_;
  GraphMeta meta_;
  std::vector<Edge> edges_;  // by owner, type, id
};

}  // namespace graphd::test
