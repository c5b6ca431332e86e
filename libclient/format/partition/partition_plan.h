// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/sorted_edges.h"
#include "graph/partition.h"

// The plan of a partitioning before the first byte is written, independent of the output format.

namespace graphd {

struct PartitionPlan {
  NodeOwners owners;
  std::vector<NodeNumbering> nodes;  // by NodeTypeId
  std::vector<SortedEdges> edges;    // by EdgeTypeId
  std::shared_ptr<const GraphMeta> meta;

  int64_t edge_cut() const;  // edges whose ends are in different partitions
};

// The feature of nodes and edges that stores their ids in the input.
inline constexpr const char* kOrigId = "orig_id";

// Renumbers nodes and edges by `owners`, with the rules of partitioner.h. `part_method` is the
// method's name in the part config.
PartitionPlan MakePartitionPlan(const RawGraph& graph, const std::string& graph_name,
                                int32_t num_parts, NodeOwners owners, std::string part_method,
                                const StepProgress& progress = {});

}  // namespace graphd
