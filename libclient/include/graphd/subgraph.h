// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Small graphs cut out of the large one, whole: every edge of the wanted kind. Functions are
// thread-safe and throw as DistGraph's queries do.

namespace GRAPHD_EXPORT graphd {

// Edges of one type in a subgraph, in the order that the function below says.
struct SubgraphEdges {
  std::vector<int64_t> src, dst;  // positions in Subgraph::nodes of their types
  std::vector<int64_t> edge_ids;  // type-wise, in the large graph (DGL: edata[dgl.EID])
};

struct Subgraph {
  std::vector<std::vector<int64_t>> nodes;  // [ntype] type-wise ids (DGL: ndata[dgl.NID])
  std::vector<SubgraphEdges> edges;         // [etype]
};

// All in-edges of the nodes, by edge type, ordered by node as listed. `nodes` is by node type,
// without duplicates. Nodes of the result: those given first, then the other sources in order of
// appearance. Matches dgl.distributed.in_subgraph, which keeps all nodes of the graph instead and
// takes one node type.
Subgraph InSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& nodes);

// The given edges (`eids` by edge type, in that order, duplicates allowed) with their ends. With
// `relabel_nodes` the nodes of the result are the ends, in order of appearance (sources of a type's
// edges before their destinations); without it nodes stay empty, and src and dst are type-wise ids.
// Matches DistGraph.edge_subgraph.
Subgraph EdgeSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& eids,
                      bool relabel_nodes = true);

// The subgraph that the nodes induce: every edge between two of them, by edge type, ordered by
// destination as listed, then by source id. `nodes` by node type, without duplicates. Matches
// dgl.node_subgraph, which DGL does not have for distributed graphs. Servers filter: what they
// send are the edges of the result.
Subgraph NodeSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& nodes);

}  // namespace graphd
