// SPDX-License-Identifier: Apache-2.0
#include "graphd/subgraph.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"
#include "base/strings.h"
#include "client/routing/edge_queries.h"
#include "client/routing/graph_access.h"
#include "client/sampling/block_maker.h"

namespace graphd {
namespace {

// Returns `ids` with one list per type.
std::vector<std::vector<int64_t>> PerType(const std::vector<std::vector<int64_t>>& ids,
                                          int32_t types, const char* what) {
  if (ids.size() > Index(types)) {
    Throw(ErrorCode::kInvalid, "lists of ", ids.size(), " ", what, " types, the graph has ", types);
  }
  std::vector<std::vector<int64_t>> all = ids;
  all.resize(Index(types));
  return all;
}

void CheckDistinct(const Schema& schema, const std::vector<std::vector<int64_t>>& nodes,
                   const std::vector<std::vector<int64_t>>& unique) {
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    if (unique[Index(t)].size() == nodes[Index(t)].size()) continue;
    Throw(ErrorCode::kInvalid, "nodes of type '", schema.ntype(t),
          "' hold duplicates: ", nodes[Index(t)].size() - unique[Index(t)].size());
  }
}

// Returns the row of each edge of a CSC matrix, [edges].
std::vector<int64_t> Expand(const std::vector<int64_t>& indptr) {
  std::vector<int64_t> rows(static_cast<size_t>(indptr.back()));
  for (size_t i = 0; i + 1 < indptr.size(); i++) {
    std::fill(rows.begin() + indptr[i], rows.begin() + indptr[i + 1], static_cast<int64_t>(i));
  }
  return rows;
}

}  // namespace

Subgraph InSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& given) {
  const Schema& schema = graph.schema();
  GraphAccess& access = *graph.access();
  const auto nodes = PerType(given, schema.num_ntypes(), "node");
  std::vector<HopSeeds> seeds(nodes.size());
  for (size_t t = 0; t < nodes.size(); t++) seeds[t].ids = nodes[t];
  std::vector<SamplingRule> rules;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) rules.push_back({e});
  HopOptions options;
  options.edge_ids = true;
  auto samples = access.Hop(seeds, rules, options);
  GraphAccess::Loan loan(access);
  Block block = MakeBlock(schema, nodes, std::move(samples),
                          [&](NodeTypeId t) -> RelabelTable& { return access.relabel(*loan, t); });
  Subgraph result;
  result.nodes = std::move(block.src_nodes);
  for (BlockEdges& edges : block.edges) {
    result.edges.push_back({{edges.indices.begin(), edges.indices.end()},
                            Expand(edges.indptr),
                            std::move(edges.edge_ids)});
  }
  return result;
}

Subgraph EdgeSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& given,
                      bool relabel_nodes) {
  const Schema& schema = graph.schema();
  GraphAccess& access = *graph.access();
  Subgraph result;
  for (auto& eids : PerType(given, schema.num_etypes(), "edge")) {
    const auto e = static_cast<EdgeTypeId>(result.edges.size());
    EdgeEnds ends = graph.FindEdges(eids, e);
    result.edges.push_back({std::move(ends.src), std::move(ends.dst), std::move(eids)});
  }
  if (!relabel_nodes) return result;
  GraphAccess::Loan loan(access);
  size_t total = 0;
  for (const SubgraphEdges& edges : result.edges) total += 2 * edges.src.size();
  result.nodes.resize(Index(schema.num_ntypes()));
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) access.relabel(*loan, t).Start(total);
  std::vector<int32_t> local;
  const auto relabel = [&](NodeTypeId t, std::vector<int64_t>& ids) {
    local.resize(ids.size());
    access.relabel(*loan, t).Add(ids, result.nodes[Index(t)], local.data());
    std::copy(local.begin(), local.end(), ids.begin());
  };
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    relabel(schema.src_type(e), result.edges[Index(e)].src);
    relabel(schema.dst_type(e), result.edges[Index(e)].dst);
  }
  return result;
}

Subgraph NodeSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& given) {
  const Schema& schema = graph.schema();
  GraphAccess& access = *graph.access();
  Subgraph result;
  result.nodes = PerType(given, schema.num_ntypes(), "node");
  {
    GraphAccess::Loan loan(access);
    CheckDistinct(schema, result.nodes,
                  UniqueSeeds(graph, result.nodes, [&](NodeTypeId t) -> RelabelTable& {
                    return access.relabel(*loan, t);
                  }));
  }
  // Servers take the members in ascending order; `order` leads back to the given order.
  std::vector<std::vector<int64_t>> members(result.nodes.size()), order(result.nodes.size());
  for (size_t t = 0; t < members.size(); t++) {
    const std::vector<int64_t>& ids = result.nodes[t];
    order[t].resize(ids.size());
    std::iota(order[t].begin(), order[t].end(), 0);
    const auto id_of = [&](int64_t at) { return ids[static_cast<size_t>(at)]; };
    std::sort(order[t].begin(), order[t].end(),
              [&](int64_t a, int64_t b) { return id_of(a) < id_of(b); });
    for (int64_t at : order[t]) members[t].push_back(id_of(at));
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const size_t src = Index(schema.src_type(e)), dst = Index(schema.dst_type(e));
    SubgraphEdges edges;
    if (!members[src].empty() && !members[dst].empty()) {
      std::vector<int64_t> indptr;
      EdgeQueries(access).Induced(e, result.nodes[dst], members[src], indptr, edges.src,
                                  edges.edge_ids);
      for (int64_t& at : edges.src) at = order[src][static_cast<size_t>(at)];
      edges.dst = Expand(indptr);
    }
    result.edges.push_back(std::move(edges));
  }
  return result;
}

}  // namespace graphd
