// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "format/partition/neighbour_lists.h"
#include "format/partition/node_weights.h"
#include "graphd/ids.h"

// Two methods that improve an assignment of a graph's nodes to partitions. Both are deterministic.
// They visit the nodes in the order of their ids, in several passes, read the adjacency lists once
// for each pass, and call `pass_done` after each pass. They take memory only for each partition,
// not for each node.

namespace graphd {

// Moves each node to the partition with the highest score: the number of the node's neighbours
// there minus the partition's price for what the node adds to it. A partition's price rises while
// the partition holds more than its share, and falls while it holds less, so that a partition that
// attracts too many nodes keeps the nodes that gain most by it. The shares in the end are near the
// average, but may exceed it. This method is only for graphs of single nodes whose edges all weigh
// 1, because moving a cluster would change too much at once. It is not for balanced edges, because
// prices of nodes and of edges would not balance both.
void RefineByPrices(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
                    std::vector<PartId>& owner, const std::function<void()>& pass_done);

// Moves each node to the partition that has most of its neighbours among the partitions with room
// for it, if that partition has more of them than the node's own partition. If a node's own
// partition exceeds its room, the node moves even if it loses neighbours. If no partition has room
// for the node and its edges, and the own partition has too many nodes, the node moves to a
// partition with room for the node alone. Stops when hardly a node moves and no partition exceeds
// its room for any quantity, or after `max_passes` passes.
void RefineWithinRoom(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
                      int max_passes, std::vector<PartId>& owner,
                      const std::function<void()>& pass_done);

}  // namespace graphd
