// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/io/step_progress.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/metis_graph.h"
#include "format/partition/node_weights.h"

namespace graphd {

// The functions of this file have no state, so any thread may call them.

// Throws Error(kOverloaded) if METIS needs more than `bound` bytes or, if `bound` is 0, more than
// the machine and the cgroup have available. `graph` describes what METIS would partition; `remedy`
// tells the user what to do instead.
void CheckMemoryForMetis(uint64_t needed, uint64_t bound, const std::string& graph,
                         const std::string& remedy);

// Returns the largest index that METIS may use.
int64_t MaxMetisIndex(const MetisBounds& bounds) noexcept;

// Estimates the memory of ldg and fennel.
uint64_t BytesForStreaming(uint64_t nodes, uint64_t neighbours) noexcept;

// Runs METIS's k-way partitioning of `graph`. It balances the quantities of `weights`, the weights
// of its nodes, within 3 % if possible. Quantities whose sum exceeds MaxMetisIndex are scaled down.
// Reports the elapsed seconds to `progress` from a thread of its own; the caller's thread must not
// call `progress` meanwhile. Throws Error(kOverloaded) if METIS runs out of memory,
// Error(kInternal) if it fails.
std::vector<PartId> RunMetis(MetisGraph& graph, const NodeWeights& weights,
                             const AssignOptions& options, const StepProgress& progress);

}  // namespace graphd
