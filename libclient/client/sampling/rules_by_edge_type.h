// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graphd/samplers.h"

namespace graphd {

class GraphAccess;

// Returns the weighted method if `column` names an edge feature with weights, and the uniform one
// if `column` is empty.
SamplingMethod MethodFor(const std::string& column);

// Returns the rule `how`, adapted to one edge type. As in DGL, an edge type without the feature
// how.column is sampled uniformly (LABOR: unweighted), and the rule then has no column.
SamplingRule RuleForEdgeType(const GraphAccess& access, EdgeTypeId etype, SamplingRule how);

// Returns one rule per edge type, made by RuleForEdgeType, with the edge type's fanout. Throws
// Error(kNotFound) if no edge type has how.column.
std::vector<SamplingRule> RulesByEdgeType(const GraphAccess& access, std::span<const int> fanouts,
                                          const SamplingRule& how);
// Returns one rule per edge type, with the fanouts of layer `layer`. Throws Error(kInvalid) if
// there are fanouts for more edge types than the graph has, and Error(kNotFound) if no edge type
// has how.column.
std::vector<SamplingRule> RulesByEdgeType(const DistGraph& graph, const LayerFanouts& fanouts,
                                          size_t layer, const SamplingRule& how);

}  // namespace graphd
