// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/raw_graph.h"
#include "graphd/schema.h"

// The first step of partitioning: which partition owns each node.

namespace graphd {

enum class PartMethod { kMetis, kRandom };
const char* PartMethodName(PartMethod method) noexcept;  // "metis", "random"
PartMethod PartMethodFromName(const std::string& name);  // Error(kInvalid) otherwise

// owners[node type][node]: partition. Some partitions may own nothing.
using NodeOwners = std::vector<std::vector<PartId>>;

// Every node's owner by a hash of (seed, type, node): no memory beside the result, and even up to
// chance.
NodeOwners AssignRandomly(const RawGraph& graph, PartId num_parts, uint64_t seed);

// METIS's k-way partitioning of the graph without directions, types, self loops and repeated edges:
// few edges between partitions, node counts even within 3 %. Deterministic for a seed. Needs about
// 8 bytes per stored edge and METIS's own three times that. Graphs of at most 4 nodes a partition
// or without edges are cut into blocks of consecutive nodes. Throws Error(kInvalid) if the graph
// exceeds the 32-bit indices of Debian's libmetis, Error(kOverloaded) if METIS runs out of memory.
NodeOwners AssignByMetis(const RawGraph& graph, PartId num_parts, uint64_t seed);

// One of the above; a single partition needs neither.
NodeOwners AssignNodes(const RawGraph& graph, PartId num_parts, PartMethod method, uint64_t seed);

}  // namespace graphd
