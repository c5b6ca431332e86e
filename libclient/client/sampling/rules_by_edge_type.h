// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "graphd/samplers.h"

namespace graphd {

// Returns one rule for in-edges per edge type: a copy of `how` with the edge type and its fanout.
// Edge types without the feature how.column are sampled uniformly (LABOR: without weights). Throws
// Error(kNotFound) if no edge type has it, Error(kInvalid) if the fanouts name more types than the
// graph has.
std::vector<SamplingRule> RulesByEdgeType(const DistGraph& graph, const LayerFanouts& fanouts,
                                          size_t layer, const SamplingRule& how);

}  // namespace graphd
