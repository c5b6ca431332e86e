// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Functions that extract complete subgraphs of a distributed graph: all edges of the requested
// kind. They are thread-safe and throw Error(kInvalid) on a type or id out of range,
// Error(kUnavailable) and Error(kDeadline).

namespace GRAPHD_EXPORT graphd {

// The edges of one type in a subgraph. The function that returns them specifies their order.
struct SubgraphEdges {
  // Positions of the endpoints in Subgraph::nodes of their types.
  std::vector<int64_t> src, dst;
  std::vector<int64_t> edge_ids;  // type-wise ids in the distributed graph (DGL: edata[dgl.EID])
};

// The nodes and edges of a subgraph.
struct Subgraph {
  std::vector<std::vector<int64_t>> nodes;  // [ntype] type-wise ids (DGL: ndata[dgl.NID])
  std::vector<SubgraphEdges> edges;         // [etype]
};

// Returns all in-edges of the nodes, by edge type, in the order of the given nodes. `nodes` is
// [ntype] of type-wise ids without duplicates. The nodes of the result are the given ones, then the
// other sources in order of first appearance. Matches dgl.distributed.in_subgraph, except that
// DGL's subgraph has all nodes of the graph, and its function takes one node type.
Subgraph InSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& nodes);

// Returns the given edges with their endpoints. `eids[etype]` has type-wise ids; their order is
// kept and duplicates are allowed. With `relabel_nodes` the nodes of the result are the endpoints
// in order of first appearance (sources of a type's edges before their destinations); without it
// `nodes` is empty, and src and dst are type-wise ids. Matches DistGraph.edge_subgraph.
Subgraph EdgeSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& eids,
                      bool relabel_nodes = true);

// Returns the subgraph that the nodes induce: every edge between two of them, by edge type, ordered
// by destination as given, then by source id. `nodes` is [ntype] of type-wise ids without
// duplicates. Matches dgl.node_subgraph, which DGL does not offer for distributed graphs. The
// daemons filter the edges, so that only the edges of the result are sent.
Subgraph NodeSubgraph(const DistGraph& graph, const std::vector<std::vector<int64_t>>& nodes);

}  // namespace graphd
