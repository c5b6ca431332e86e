// SPDX-License-Identifier: Apache-2.0
#include "graphd/sampling.h"

#include "base/strings.h"
#include "client/routing/graph_access.h"
#include "client/sampling/rules_by_edge_type.h"

namespace graphd {
namespace {

// The rule of `options`, for any edge type.
SamplingRule RuleOf(const SampleOptions& options) {
  SamplingRule rule;
  rule.direction = options.direction;
  rule.method = MethodFor(options.prob);
  rule.fanout = options.fanout;
  rule.replace = options.replace;
  rule.column = options.prob;
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
  if (!options.prob.empty()) access.feature({etype, options.prob});  // throws if not found
  const SamplingRule rule = RuleForEdgeType(access, etype, RuleOf(options));
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
  const std::vector<SamplingRule> rules = RulesByEdgeType(access, fanouts, RuleOf(options));
  return access.Hop(by_type, rules, {options.seed, options.layer, options.edge_ids});
}

}  // namespace graphd
