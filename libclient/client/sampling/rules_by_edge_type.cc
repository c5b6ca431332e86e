// SPDX-License-Identifier: Apache-2.0
#include "client/sampling/rules_by_edge_type.h"

#include <algorithm>

#include "base/strings.h"
#include "client/routing/graph_access.h"

namespace graphd {

std::vector<SamplingRule> RulesByEdgeType(const DistGraph& graph, const LayerFanouts& fanouts,
                                          size_t layer, const SamplingRule& how) {
  const auto num_etypes = graph.schema().num_etypes();
  const std::vector<int> of_types = fanouts.OfTypes(layer, num_etypes);
  std::vector<SamplingRule> rules;
  bool found = how.column.empty();
  for (EdgeTypeId e = 0; e < num_etypes; e++) {
    SamplingRule rule = how;
    rule.etype = e;
    rule.fanout = of_types[static_cast<size_t>(e)];
    const auto& features = graph.access()->features(true, e);
    const auto named = [&](const FeatureInfo& info) { return info.name == how.column; };
    if (std::any_of(features.begin(), features.end(), named)) {
      found = true;
    } else if (!how.column.empty()) {
      rule.column.clear();
      if (rule.method != SamplingMethod::kLabor) rule.method = SamplingMethod::kUniform;
    }
    rules.push_back(std::move(rule));
  }
  if (!found) Throw(ErrorCode::kNotFound, "no edge type has a feature '", how.column, "'");
  return rules;
}

}  // namespace graphd
