// SPDX-License-Identifier: Apache-2.0
#include "client/sampling/walkers.h"

#include <numeric>

#include "client/routing/check_ids.h"
#include "client/sampling/rules_by_edge_type.h"

namespace graphd {
namespace {

constexpr int64_t kMostSteps = int64_t{1} << 20;
constexpr size_t kMostNodes = size_t{1} << 30;

}  // namespace

void CheckWalkLength(int64_t length) {
  if (length >= 0 && length <= kMostSteps) return;
  Throw(ErrorCode::kInvalid, "walks of ", length, " steps: use 0..", kMostSteps);
}

void CheckWalkCount(size_t seeds, size_t walks_per_seed, size_t length) {
  if (seeds <= kMostNodes / (length + 1) / walks_per_seed) return;
  Throw(ErrorCode::kInvalid, walks_per_seed, " walks of ", length, " steps from each of ", seeds,
        " seeds; use ", kMostNodes, " nodes at most, by walking from fewer seeds at once");
}

SamplingRule StepRule(const GraphAccess& access, EdgeTypeId etype, Direction direction,
                      const std::string& prob) {
  const Schema& schema = access.meta().schema;
  if (etype < 0 || etype >= schema.num_etypes()) {
    Throw(ErrorCode::kInvalid, "edge type ", etype, " of a walk is outside 0..",
          schema.num_etypes() - 1);
  }
  SamplingRule how{etype, direction};
  how.method = MethodFor(prob);
  how.fanout = 1;
  how.replace = true;
  how.column = prob;
  SamplingRule rule = RuleForEdgeType(access, etype, how);
  CheckSamplingRule(schema, rule, access.features(etype));
  return rule;
}

Walkers::Walkers(const DistGraph& graph, std::span<const int64_t> seeds,
                 std::vector<NodeTypeId> ntypes, bool edge_ids) {
  CheckIds(seeds, graph.num_nodes(ntypes[0]), "seed");
  CheckWalkCount(seeds.size(), 1, ntypes.size() - 1);
  result_.count = seeds.size();
  result_.length = ntypes.size() - 1;
  result_.nodes.assign(seeds.size() * ntypes.size(), -1);
  result_.edge_ids.assign(edge_ids ? seeds.size() * result_.length : 0, -1);
  for (size_t w = 0; w < seeds.size(); w++) result_.nodes[w * ntypes.size()] = seeds[w];
  result_.ntypes = std::move(ntypes);
  nodes_.assign(seeds.begin(), seeds.end());
  walks_.resize(seeds.size());
  std::iota(walks_.begin(), walks_.end(), 0);
}

// Keeps only the walks i with goes(i).
template <class Goes>
void Walkers::Keep(const Goes& goes) {
  size_t kept = 0;
  for (size_t i = 0; i < walks_.size(); i++) {
    if (!goes(i)) continue;
    walks_[kept] = walks_[i];
    nodes_[kept++] = nodes_[i];
  }
  walks_.resize(kept);
  nodes_.resize(kept);
}

void Walkers::EndSome(double probability, uint64_t key) {
  if (probability <= 0) return;
  Keep([&](size_t i) {
    CounterRng random(CombineKeys(key, static_cast<uint64_t>(walks_[i])));
    return NextUnit(random) >= probability;
  });
}

void Walkers::Step(std::span<const int64_t> nodes, std::span<const int64_t> edge_ids) {
  const size_t width = result_.length + 1;
  for (size_t i = 0; i < walks_.size(); i++) {
    const auto walk = static_cast<size_t>(walks_[i]);
    nodes_[i] = nodes[i];
    result_.nodes[walk * width + step_ + 1] = nodes[i];
    if (!edge_ids.empty()) result_.edge_ids[walk * result_.length + step_] = edge_ids[i];
  }
  step_++;
  Keep([&](size_t i) { return nodes_[i] >= 0; });
}

}  // namespace graphd
