// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "format/io/step_progress.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/metis_graph.h"
#include "format/partition/node_weights.h"

namespace graphd {

// Throws Error(kOverloaded) if METIS needs more than `bound` bytes, or more than the machine and
// the cgroup have available if that is 0. The error names the graph's nodes and pairs of
// neighbours, and the methods to use instead.
void CheckMemoryForMetis(uint64_t needed, uint64_t nodes, uint64_t neighbours, uint64_t bound,
                         const char* instead);

// Runs METIS's k-way partitioning, which balances the quantities of `weights` (the nodes of
// `graph`) within 3 % if possible. Reports the elapsed seconds to `progress` from a thread of its
// own; the caller's thread must not use it meanwhile. Throws Error(kInvalid) if the sum of a
// quantity exceeds `max_index`, Error(kOverloaded) if METIS runs out of memory.
std::vector<PartId> RunMetis(MetisGraph& graph, const NodeWeights& weights,
                             const AssignOptions& options, int64_t max_index,
                             const StepProgress& progress);

}  // namespace graphd
