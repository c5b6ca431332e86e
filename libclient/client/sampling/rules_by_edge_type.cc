// SPDX-License-Identifier: Apache-2.0
#include "client/sampling/rules_by_edge_type.h"

#include <algorithm>

#include "base/strings.h"
#include "client/routing/graph_access.h"

namespace graphd {
namespace {

std::vector<std::vector<int>> OnePerLayer(const std::vector<int>& fanouts) {
  std::vector<std::vector<int>> per_layer;
  for (int fanout : fanouts) per_layer.push_back({fanout});
  return per_layer;
}

}  // namespace

LayerFanouts::LayerFanouts(const std::vector<int>& fanouts) : LayerFanouts(OnePerLayer(fanouts)) {
  same_for_all_ = true;
}

LayerFanouts::LayerFanouts(std::vector<std::vector<int>> fanouts) : fanouts_(std::move(fanouts)) {
  for (const auto& layer : fanouts_) {
    for (int fanout : layer) {
      if (fanout >= kAllNeighbors) continue;
      Throw(ErrorCode::kInvalid, "fanout ", fanout, ": use -1 for all, or 0 and more");
    }
  }
}

std::vector<int> LayerFanouts::OfTypes(size_t layer, int32_t num_types) const {
  const std::vector<int>& given = fanouts_.at(layer);
  const auto count = static_cast<size_t>(num_types);
  if (same_for_all_) return std::vector<int>(count, given[0]);
  if (given.size() > count) {
    Throw(ErrorCode::kInvalid, "fanouts of ", given.size(), " types in layer ", layer,
          ", the graph has ", count);
  }
  std::vector<int> of_types = given;
  of_types.resize(count, 0);
  return of_types;
}

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
