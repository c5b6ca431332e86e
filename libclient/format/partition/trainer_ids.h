// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"

namespace graphd {

// The feature of nodes and edges that stores the trainer they are assigned to.
inline constexpr const char* kTrainerId = "trainer_id";

// Returns `graph` with the additional feature kTrainerId of each node and edge type: int64, for an
// edge that of its destination. Shares the other tensors.
RawGraph WithTrainerIds(const RawGraph& graph, const NodeOwners& trainers);

}  // namespace graphd
