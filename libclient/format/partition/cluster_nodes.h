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

// Groups nodes into clusters with many edges inside, each of which stands for at most `max_nodes`
// nodes of the original graph unless one node alone exceeds that, by label propagation with a
// bound on sizes (Meyerhenke, Sanders, Schulz: Partitioning Complex Networks via Size-constrained
// Clustering, SEA 2014): passes over the nodes in the order of their ids move each to the cluster
// with most of its neighbours. Nodes that remain alone because their favourite cluster is full
// are put together by favourites. Deterministic. Reads the lists once for each pass; calls
// `pass_done` after each. Holds 16 bytes per node, besides the result.
Clusters ClusterNodes(const NeighbourLists& lists, const NodeWeights& weights, uint64_t max_nodes,
                      uint64_t seed, const std::function<void()>& pass_done);

}  // namespace graphd
