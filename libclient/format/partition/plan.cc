// SPDX-License-Identifier: Apache-2.0
#include "format/partition/plan.h"

#include <utility>

#include "base/index.h"

namespace graphd {
namespace {

// Returns the homogeneous ranges [type][partition] for the counts [type][partition].
std::vector<std::vector<IdMap::Range>> TileRanges(const std::vector<std::vector<int64_t>>& counts,
                                                  int32_t num_parts) {
  std::vector<std::vector<IdMap::Range>> ranges(counts.size());
  int64_t next = 0;
  for (size_t p = 0; p < Index(num_parts); p++) {
    for (size_t t = 0; t < counts.size(); t++) {
      ranges[t].push_back({next, next + counts[t][p]});
      next += counts[t][p];
    }
  }
  return ranges;
}

}  // namespace

int64_t PartitionPlan::edge_cut() const {
  int64_t cut = 0;
  for (const SortedEdges& sorted : edges) cut += sorted.edge_cut();
  return cut;
}

std::shared_ptr<GraphMeta> MakeGraphMeta(const Schema& schema, const std::string& graph_name,
                                         const std::vector<std::vector<int64_t>>& node_counts,
                                         const std::vector<std::vector<int64_t>>& edge_counts,
                                         std::string part_method) {
  const auto parts = static_cast<int32_t>(node_counts.at(0).size());
  return std::make_shared<GraphMeta>(
      GraphMeta{graph_name, schema,
                PartitionBook(IdMap::FromRanges("node", TileRanges(node_counts, parts)),
                              IdMap::FromRanges("edge", TileRanges(edge_counts, parts))),
                std::move(part_method), 1});
}

PartitionPlan MakePartitionPlan(const RawGraph& graph, const std::string& graph_name,
                                int32_t num_parts, NodeOwners owners, std::string part_method,
                                const StepProgress& progress) {
  PartitionPlan plan;
  plan.owners = std::move(owners);
  std::vector<std::vector<int64_t>> node_counts, edge_counts;
  for (const auto& of_type : plan.owners) {
    plan.nodes.push_back(NumberNodes(of_type, num_parts));
    node_counts.push_back(plan.nodes.back().Counts());
  }
  const Schema& schema = graph.schema;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    if (progress) progress("sorting edges", Index(e), Index(schema.num_etypes()));
    const NodeNumbering& dst = plan.nodes[Index(schema.dst_type(e))];
    plan.edges.emplace_back(graph.edges[Index(e)], plan.nodes[Index(schema.src_type(e))], dst);
    const std::span<const uint64_t> offsets = plan.edges.back().offsets();
    edge_counts.emplace_back();
    for (size_t p = 0; p < Index(num_parts); p++) {
      edge_counts.back().push_back(
          static_cast<int64_t>(offsets[Index(dst.first[p + 1])] - offsets[Index(dst.first[p])]));
    }
  }
  if (progress) progress("sorting edges", 1, 1);
  plan.meta = MakeGraphMeta(schema, graph_name, node_counts, edge_counts, std::move(part_method));
  return plan;
}

}  // namespace graphd
