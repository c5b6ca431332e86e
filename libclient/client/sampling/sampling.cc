// SPDX-License-Identifier: Apache-2.0
#include "graphd/sampling.h"

#include "base/strings.h"
#include "client/routing/graph_access.h"

namespace graphd {
namespace {

// Returns the rule that `options` describe for one edge type. As in DGL, an edge type without the
// probabilities is sampled uniformly.
SamplingRule RuleOf(const GraphAccess& access, EdgeTypeId etype, const SampleOptions& options,
                    bool& found_prob) {
  SamplingRule rule{etype, options.direction};
  rule.fanout = options.fanout;
  rule.replace = options.replace;
  for (const FeatureInfo& info : access.features(true, etype)) {
    if (options.prob.empty() || info.name != options.prob) continue;
    rule.method = SamplingMethod::kWeighted;
    rule.column = options.prob;
    found_prob = true;
  }
  return rule;
}

}  // namespace

std::vector<Neighbors> SampleHop(const DistGraph& graph, std::span<const HopSeeds> seeds,
                                 std::span<const SamplingRule> rules, const HopOptions& options) {
  return graph.access()->Hop(seeds, rules, options);
}

Neighbors SampleNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                          const SampleOptions& options, EdgeTypeId etype) {
  GraphAccess& access = *graph.access();
  bool found_prob = options.prob.empty();
  const SamplingRule rule = RuleOf(access, etype, options, found_prob);
  // Throws and lists the existing features.
  if (!found_prob) access.feature({true, etype, options.prob});
  std::vector<HopSeeds> by_type(static_cast<size_t>(graph.schema().num_ntypes()));
  by_type[static_cast<size_t>(SeedType(graph.schema(), rule))].ids = seeds;
  std::vector<std::vector<int64_t>> exclude;
  if (!options.exclude.empty()) {
    exclude.resize(static_cast<size_t>(graph.schema().num_etypes()));
    exclude[static_cast<size_t>(etype)].assign(options.exclude.begin(), options.exclude.end());
  }
  const HopOptions hop{options.seed, options.layer, options.edge_ids, exclude};
  return std::move(access.Hop(by_type, std::span(&rule, 1), hop)[0]);
}

std::vector<Neighbors> SampleEtypeNeighbors(const DistGraph& graph,
                                            const std::vector<std::vector<int64_t>>& seeds,
                                            std::span<const int> fanouts,
                                            const SampleOptions& options) {
  GraphAccess& access = *graph.access();
  const Schema& schema = graph.schema();
  if (fanouts.size() != static_cast<size_t>(schema.num_etypes())) {
    Throw(ErrorCode::kInvalid, fanouts.size(), " fanouts, the graph has ", schema.num_etypes(),
          " edge types; give one for each");
  }
  std::vector<HopSeeds> by_type(seeds.size());
  for (size_t t = 0; t < seeds.size(); t++) by_type[t].ids = seeds[t];
  bool found_prob = options.prob.empty();
  std::vector<SamplingRule> rules;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    SampleOptions of_type = options;
    of_type.fanout = fanouts[static_cast<size_t>(e)];
    rules.push_back(RuleOf(access, e, of_type, found_prob));
  }
  if (!found_prob) {
    Throw(ErrorCode::kNotFound, "no edge type has a feature '", options.prob, "'");
  }
  return access.Hop(by_type, rules, {options.seed, options.layer, options.edge_ids});
}

}  // namespace graphd
