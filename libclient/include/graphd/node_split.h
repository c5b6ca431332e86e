// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "graphd/dist_graph.h"

namespace graphd {

// The nodes of `mask` (a uint8 or bool feature of length num_nodes(ntype)) that this trainer trains
// on, ascending type-wise ids. Every node whose mask is not 0 goes to exactly one of the job's
// trainers. Matches dgl.distributed.node_split.
//
// force_even: the set nodes, in ascending id order, are cut into one chunk per trainer, sizes
// differing by at most 1; trainers of partition 0 come first, so most of a chunk lies in the
// trainer's own partition. (DGL's chunks per machine are then divided at random; ours keep
// locality.) Otherwise: the set nodes that this trainer's partition owns, divided evenly among the
// trainers of that partition.
//
// Throws Error(kInvalid) on a mask of another dtype or length.
std::vector<int64_t> NodeSplit(const DistGraph& graph, const DistTensor& mask,
                               bool force_even = true, NodeTypeId ntype = 0);

}  // namespace graphd
