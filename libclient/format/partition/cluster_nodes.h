// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "format/partition/neighbour_lists.h"
#include "format/partition/node_weights.h"

namespace graphd {

// The clusters of a graph's nodes.
struct Clusters {
  std::vector<uint32_t> of;  // by node, less than count
  size_t count = 0;
};

// Groups nodes into densely connected clusters by label propagation with a bound on sizes
// (Meyerhenke, Sanders, Schulz: Partitioning Complex Networks via Size-constrained Clustering, SEA
// 2014). A cluster stands for at most `max_nodes` nodes of the original graph, unless a single node
// of this graph already stands for more. Each pass visits the nodes in the order of their ids, and
// moves each node to the cluster that has most of its neighbours and room for it. Nodes that remain
// alone because the cluster with most of their neighbours is full are grouped with others that
// prefer this cluster. Deterministic. Reads the adjacency lists once for each pass, and calls
// `pass_done` after each pass. Holds 16 bytes per node, besides the result.
Clusters ClusterNodes(const NeighbourLists& lists, const NodeWeights& weights, uint64_t max_nodes,
                      uint64_t seed, const std::function<void()>& pass_done);

}  // namespace graphd
