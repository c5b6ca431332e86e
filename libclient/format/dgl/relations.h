// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graphd/partition_book.h"

// DGL 0.6-0.9 named edge types by their relation alone; which node types it joins stands nowhere
// but in the edges.

namespace graphd {

// Ends of an edge type; none while no edge of it was seen.
struct RelationEnds {
  NodeTypeId src, dst;
};

// Fills the entries of `ends` (by EdgeTypeId) that are empty from one edge each of a partition's
// graph file, owned or not. Those without an edge there stay empty. Throws Error(kCorrupt).
void DeriveRelationEnds(const std::string& graph_path, const PartitionBook& book, PartId part,
                        std::vector<std::optional<RelationEnds>>& ends);

}  // namespace graphd
