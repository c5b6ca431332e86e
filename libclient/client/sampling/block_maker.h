// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "graphd/block.h"
#include "sampling/relabel.h"

namespace graphd {

// A function that returns the caller's RelabelTable of a node type.
using RelabelTables = std::function<RelabelTable&(NodeTypeId)>;

// Builds a block as ToBlock does, with the caller's tables.
Block MakeBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
                std::vector<Neighbors> samples, const RelabelTables& table);

// Returns the seeds [ntype] without duplicates, one list per node type. Throws Error(kInvalid) on
// ids and numbers of types out of range.
std::vector<std::vector<int64_t>> UniqueSeeds(const DistGraph& graph,
                                              const std::vector<std::vector<int64_t>>& seeds,
                                              const RelabelTables& table);

}  // namespace graphd
