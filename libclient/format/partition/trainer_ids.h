// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"

namespace graphd {

// The feature of nodes and edges that stores the trainer they are assigned to.
inline constexpr const char* kTrainerId = "trainer_id";

// Returns `graph` with the additional int64 feature kTrainerId for each node and edge type. An edge
// has the trainer of its destination. The other tensors are shared with `graph`.
RawGraph WithTrainerIds(const RawGraph& graph, const NodeOwners& trainers);

}  // namespace graphd
