// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"

namespace graphd {

// The feature of nodes and edges that says which trainer of which machine they were assigned to.
inline constexpr const char* kTrainerId = "trainer_id";

// `graph` and, for each node and edge type, the feature kTrainerId: int64, an edge's being its
// destination's. Shares the other tensors.
RawGraph WithTrainerIds(const RawGraph& graph, const NodeOwners& trainers);

}  // namespace graphd
