// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "client/sampling/walkers.h"

namespace graphd {
namespace {

constexpr uint64_t kRestart = 0x72657374617274ULL;

// Returns the rules of the metapath's edge types, indexed by edge type.
std::vector<SamplingRule> RulesOf(const GraphAccess& access,
                                  const std::vector<EdgeTypeId>& metapath,
                                  const WalkOptions& options) {
  std::vector<SamplingRule> rules(static_cast<size_t>(access.meta().schema.num_etypes()));
  std::vector<bool> known(rules.size());
  bool found = options.prob.empty();
  for (EdgeTypeId etype : metapath) {
    const auto e = static_cast<size_t>(etype);
    if (e < known.size() && known[e]) continue;
    SamplingRule rule = StepRule(access, etype, options.direction, options.prob);
    found = found || rule.method == SamplingMethod::kWeighted;
    rules[e] = std::move(rule);
    known[e] = true;
  }
  if (!found) {
    Throw(ErrorCode::kNotFound, "no edge type of the metapath has a feature '", options.prob, "'");
  }
  return rules;
}

std::vector<NodeTypeId> TypesOf(const Schema& schema, const std::vector<EdgeTypeId>& metapath,
                                const std::vector<SamplingRule>& rules) {
  std::vector<NodeTypeId> ntypes;
  for (size_t step = 0; step < metapath.size(); step++) {
    const SamplingRule& rule = rules[static_cast<size_t>(metapath[step])];
    const NodeTypeId from = SeedType(schema, rule);
    if (step == 0) ntypes.push_back(from);
    if (from != ntypes.back()) {
      Throw(ErrorCode::kInvalid, "step ", step, " of the metapath, ",
            schema.etype(metapath[step]).ToString(), ", begins at node type '", schema.ntype(from),
            "', but the step before ends at '", schema.ntype(ntypes.back()), "'");
    }
    ntypes.push_back(NeighborType(schema, rule));
  }
  return ntypes;
}

void CheckRestart(const std::vector<double>& probabilities, size_t steps) {
  if (probabilities.size() > 1 && probabilities.size() != steps) {
    Throw(ErrorCode::kInvalid, probabilities.size(), " restart probabilities for ", steps,
          " steps; give one, or one per step");
  }
  for (double p : probabilities) {
    if (p >= 0 && p <= 1) continue;
    Throw(ErrorCode::kInvalid, "restart probability ", p, " is outside 0..1");
  }
}

// The next nodes and edges of the walks, from a hop with fanout 1.
struct NextNodes {
  std::vector<int64_t> nodes, edge_ids;
  void Assign(const Neighbors& hop, bool with_edges) {
    const size_t count = hop.indptr.size() - 1;
    nodes.assign(count, -1);
    edge_ids.assign(with_edges ? count : 0, -1);
    for (size_t i = 0; i < count; i++) {
      if (hop.indptr[i] == hop.indptr[i + 1]) continue;
      const auto at = static_cast<size_t>(hop.indptr[i]);
      nodes[i] = hop.neighbors[at];
      if (with_edges) edge_ids[i] = hop.edge_ids[at];
    }
  }
};

Walks Walk(const DistGraph& graph, std::span<const int64_t> seeds, std::vector<NodeTypeId> ntypes,
           const std::vector<EdgeTypeId>& metapath, const std::vector<SamplingRule>& rules,
           const WalkOptions& options) {
  CheckRestart(options.restart_prob, metapath.size());
  GraphAccess& access = *graph.access();
  const uint64_t seed = WalkSeed(options.seed);
  Walkers walkers(graph, seeds, std::move(ntypes), options.edge_ids);
  std::vector<HopSeeds> at(static_cast<size_t>(graph.schema().num_ntypes()));
  NextNodes next;
  while (!walkers.done()) {
    const size_t step = walkers.step();
    if (!options.restart_prob.empty()) {
      const double p = options.restart_prob[options.restart_prob.size() == 1 ? 0 : step];
      walkers.EndSome(p, CombineKeys(CombineKeys(seed, kRestart), step));
      if (walkers.done()) break;
    }
    const SamplingRule& rule = rules[static_cast<size_t>(metapath[step])];
    HopSeeds& from = at[static_cast<size_t>(SeedType(graph.schema(), rule))];
    from = {walkers.nodes(), walkers.walks()};
    const HopOptions hop{seed, static_cast<uint32_t>(step), options.edge_ids};
    next.Assign(access.Hop(at, std::span(&rule, 1), hop)[0], options.edge_ids);
    from = {};
    walkers.Step(next.nodes, next.edge_ids);
  }
  return std::move(walkers).Finish();
}

}  // namespace

Walks RandomWalk(const DistGraph& graph, std::span<const int64_t> seeds,
                 const std::vector<EdgeTypeId>& metapath, const WalkOptions& options) {
  if (metapath.empty()) {
    Throw(ErrorCode::kInvalid, "the metapath is empty; name the edge type of each step");
  }
  CheckWalkLength(static_cast<int64_t>(metapath.size()));
  const std::vector<SamplingRule> rules = RulesOf(*graph.access(), metapath, options);
  return Walk(graph, seeds, TypesOf(graph.schema(), metapath, rules), metapath, rules, options);
}

Walks RandomWalkOfLength(const DistGraph& graph, std::span<const int64_t> seeds, int64_t length,
                         const WalkOptions& options) {
  CheckWalkLength(length);
  const Schema& schema = graph.schema();
  if (!schema.is_homogeneous()) {
    Throw(ErrorCode::kInvalid, "graph '", graph.name(), "' has ", schema.num_ntypes(),
          " node types and ", schema.num_etypes(), " edge types; walk along a metapath");
  }
  const std::vector<EdgeTypeId> metapath(static_cast<size_t>(length), 0);
  const std::vector<SamplingRule> rules = RulesOf(*graph.access(), {0}, options);
  return Walk(graph, seeds, std::vector<NodeTypeId>(metapath.size() + 1, 0), metapath, rules,
              options);
}

}  // namespace graphd
