// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/sort_edges.h"
#include "graph/partition.h"

// What is known before the first byte of a partition is written, whatever its format.

namespace graphd {

struct PartitionPlan {
  NodeOwners owners;
  std::vector<NodeNumbering> nodes;  // by NodeTypeId
  std::vector<SortedEdges> edges;    // by EdgeTypeId
  std::shared_ptr<const GraphMeta> meta;

  int64_t edge_cut() const;  // edges whose ends are in different partitions
};

// The feature of nodes and edges that keeps the numbers of the input.
inline constexpr const char* kOrigId = "orig_id";

// Numbers nodes and edges after `owners`, as partitioner.h says. `part_method` is the name that the
// part config gives it.
PartitionPlan MakePartitionPlan(const RawGraph& graph, const std::string& graph_name,
                                PartId num_parts, NodeOwners owners, std::string part_method,
                                const StepProgress& progress = {});

}  // namespace graphd
