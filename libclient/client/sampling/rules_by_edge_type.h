// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "graphd/samplers.h"

namespace graphd {

// One inward pick per edge type: `how`, with the type and its fanout. Edge types that don't have
// how.column go without it, uniformly (LABOR: unweighted). Throws Error(kNotFound) if none has it,
// Error(kInvalid) on fanouts of more types than there are.
std::vector<SamplingRule> RulesByEdgeType(const DistGraph& graph, const LayerFanouts& fanouts,
                                          size_t layer, const SamplingRule& how);

}  // namespace graphd
