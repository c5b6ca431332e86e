// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"
#include "graphd/partition_book.h"

// New ids for the nodes of a graph that are assigned to partitions (partitioner.h has the rules).

namespace graphd {

// The new ids of one node type.
struct NodeNumbering {
  Tensor new_ids;              // uint32 or uint64 [nodes]: type-wise new id of each original id
  std::vector<int64_t> first;  // [partitions + 1]: partition p owns new ids first[p]..first[p+1]-1

  // Returns the number of nodes of each partition.
  std::vector<int64_t> Counts() const;
};

NodeNumbering NumberNodes(const std::vector<PartId>& owners, int32_t num_parts);

// Returns the original ids of the nodes that `part` owns, ascending, which is the order of their
// new ids.
std::vector<int64_t> OriginalIds(const std::vector<PartId>& owners, PartId part, int64_t count);

}  // namespace graphd
