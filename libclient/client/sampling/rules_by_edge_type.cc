// SPDX-License-Identifier: Apache-2.0
#include "client/sampling/rules_by_edge_type.h"

#include <algorithm>

#include "base/strings.h"
#include "client/routing/graph_access.h"

namespace graphd {

SamplingMethod MethodFor(const std::string& column) {
  return column.empty() ? SamplingMethod::kUniform : SamplingMethod::kWeighted;
}

SamplingRule RuleForEdgeType(const GraphAccess& access, EdgeTypeId etype, SamplingRule how) {
  const auto& features = access.features(etype);
  how.etype = etype;
  if (how.column.empty()) return how;
  const auto named = [&](const FeatureInfo& info) { return info.name == how.column; };
  if (std::any_of(features.begin(), features.end(), named)) return how;
  how.column.clear();
  if (how.method != SamplingMethod::kLabor) how.method = MethodFor(how.column);
  return how;
}

std::vector<SamplingRule> RulesByEdgeType(const GraphAccess& access, std::span<const int> fanouts,
                                          const SamplingRule& how) {
  std::vector<SamplingRule> rules;
  bool found = how.column.empty();
  for (size_t e = 0; e < fanouts.size(); e++) {
    SamplingRule rule = RuleForEdgeType(access, static_cast<EdgeTypeId>(e), how);
    rule.fanout = fanouts[e];
    found |= rule.column == how.column;
    rules.push_back(std::move(rule));
  }
  if (!found) Throw(ErrorCode::kNotFound, "no edge type has a feature '", how.column, "'");
  return rules;
}

std::vector<SamplingRule> RulesByEdgeType(const DistGraph& graph, const LayerFanouts& fanouts,
                                          size_t layer, const SamplingRule& how) {
  const std::vector<int> of_types = fanouts.OfTypes(layer, graph.schema().num_etypes());
  return RulesByEdgeType(*graph.access(), of_types, how);
}

}  // namespace graphd
