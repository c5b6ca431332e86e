// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "format/partition/neighbour_lists.h"
#include "format/partition/node_weights.h"
#include "graphd/ids.h"

// Two ways to improve an assignment of a graph's nodes to partitions. Both pass over the nodes in
// the order of their ids, read the lists once for each pass, hold memory for the partitions only,
// call `pass_done` after each pass, and are deterministic.

namespace graphd {

// Moves each node to the partition with most of its neighbours, minus a price for what the node
// adds to it. A partition's price rises while it holds more than its share, and falls while it
// holds less, so that a partition that attracts too many nodes keeps those that gain most by it.
// The shares in the end are near the average, but may exceed it. Only for graphs of single nodes,
// whose edges all weigh 1, and without balanced edges: clusters move too much at once, and prices
// of nodes and of edges would not balance both.
void RefineByPrices(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
                    std::vector<PartId>& owner, const std::function<void()>& pass_done);

// Moves each node to the partition with most of its neighbours that has room for it, if it gains by
// that, and nodes of partitions that exceed their room to another one in any case; if none has room
// for the node's edges as well, to one with room for the node. Stops when hardly a node moves and
// no partition exceeds its room for anything, or after `max_passes` passes.
void RefineWithinRoom(const NeighbourLists& lists, const NodeWeights& weights, size_t parts,
                      int max_passes, std::vector<PartId>& owner,
                      const std::function<void()>& pass_done);

}  // namespace graphd
