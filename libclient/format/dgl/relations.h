// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graphd/partition_book.h"

// DGL 0.6-0.9 named edge types by their relation alone; only the edges tell which node types a
// relation joins.

namespace graphd {

// The node types at the ends of an edge type.
struct RelationEnds {
  NodeTypeId src, dst;
};

// Fills the empty entries of `ends` (by EdgeTypeId), each from one edge in a partition's graph
// file, owned or not. Entries of types without an edge there stay empty. Throws Error(kCorrupt).
void DeriveRelationEnds(const std::string& graph_path, const PartitionBook& book, PartId part,
                        std::vector<std::optional<RelationEnds>>& ends);

}  // namespace graphd
