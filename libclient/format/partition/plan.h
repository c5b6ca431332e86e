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

// Returns the description of a graph whose partitions have the given counts [type][partition] of
// nodes and edges.
std::shared_ptr<GraphMeta> MakeGraphMeta(const Schema& schema, const std::string& graph_name,
                                         const std::vector<std::vector<int64_t>>& node_counts,
                                         const std::vector<std::vector<int64_t>>& edge_counts,
                                         std::string part_method);

// Renumbers nodes and edges by `owners`, with the rules of partitioner.h. `part_method` is the
// method's name in the part config.
PartitionPlan MakePartitionPlan(const RawGraph& graph, const std::string& graph_name,
                                int32_t num_parts, NodeOwners owners, std::string part_method,
                                const StepProgress& progress = {});

}  // namespace graphd
