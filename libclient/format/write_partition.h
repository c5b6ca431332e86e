// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/assign_nodes.h"
#include "format/raw_graph.h"
#include "format/renumber.h"
#include "graph/partition.h"

// The last step of partitioning: one partition's files.

namespace graphd {

// What is known before the first byte is written.
struct PartitionPlan {
  NodeOwners owners;
  std::vector<NodeNumbering> nodes;  // by NodeTypeId
  std::vector<SortedEdges> edges;    // by EdgeTypeId
  std::shared_ptr<const GraphMeta> meta;
};

// The feature of nodes and edges that keeps the numbers of the input.
inline constexpr const char* kOrigId = "orig_id";

// Writes partition `part` of the plan into `directory` in the native format, through buffers of 1
// MiB. `written` is told the bytes of each piece; may be empty. Returns the bytes of all segments.
uint64_t WritePartition(const RawGraph& graph, const PartitionPlan& plan,
                        const std::string& directory, PartId part,
                        const std::function<void(uint64_t)>& written);

}  // namespace graphd
