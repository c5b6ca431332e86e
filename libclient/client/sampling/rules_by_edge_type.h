// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graphd/samplers.h"

namespace graphd {

class GraphAccess;

// Returns the method for an optional edge feature with weights: weighted if `column` names one,
// else uniform.
SamplingMethod MethodFor(const std::string& column);

// Returns `how` for one edge type. As in DGL, an edge type without the feature how.column is
// sampled uniformly (LABOR: unweighted), and the rule then has no column.
SamplingRule RuleForEdgeType(const GraphAccess& access, EdgeTypeId etype, SamplingRule how);

// Returns one such rule per edge type, with the type's fanout. Throws Error(kNotFound) if no edge
// type has how.column.
std::vector<SamplingRule> RulesByEdgeType(const GraphAccess& access, std::span<const int> fanouts,
                                          const SamplingRule& how);
// Does the same with the fanouts of a layer. Throws Error(kInvalid) on fanouts of more types than
// the graph has.
std::vector<SamplingRule> RulesByEdgeType(const DistGraph& graph, const LayerFanouts& fanouts,
                                          size_t layer, const SamplingRule& how);

}  // namespace graphd
