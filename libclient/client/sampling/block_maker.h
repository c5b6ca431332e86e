// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "graphd/block.h"
#include "sampling/relabel.h"

namespace graphd {

// The caller's table of each node type.
using RelabelTables = std::function<RelabelTable&(NodeTypeId)>;

// ToBlock with the caller's tables.
Block MakeBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
                std::vector<Neighbors> samples, const RelabelTables& table);

// Seeds of every node type, checked and without duplicates. Throws Error(kInvalid).
std::vector<std::vector<int64_t>> UniqueSeeds(const DistGraph& graph,
                                              const std::vector<std::vector<int64_t>>& seeds,
                                              const RelabelTables& table);

}  // namespace graphd
