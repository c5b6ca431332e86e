// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/strings.h"
#include "client/sampling/walkers.h"

namespace graphd {
namespace {

void CheckOptions(const PinSageOptions& options) {
  const auto at_least = [](int value, int least, const char* what) {
    if (value >= least) return;
    Throw(ErrorCode::kInvalid, what, " is ", value, "; use ", least, " or more");
  };
  at_least(options.num_traversals, 1, "num_traversals");
  at_least(options.num_random_walks, 1, "num_random_walks");
  at_least(options.num_neighbors, -1, "num_neighbors");
  if (options.termination_prob >= 0 && options.termination_prob <= 1) return;
  Throw(ErrorCode::kInvalid, "termination_prob ", options.termination_prob, " is outside 0..1");
}

std::vector<EdgeTypeId> MetapathOf(const DistGraph& graph, const PinSageOptions& options) {
  if (!options.metapath.empty()) return options.metapath;
  if (graph.schema().is_homogeneous()) return {0};
  Throw(ErrorCode::kInvalid, "graph '", graph.name(),
        "' has several types; name the metapath of PinSAGE's walks");
}

// Returns the node type at which the metapath begins, and checks that it ends there too.
NodeTypeId CheckedType(const DistGraph& graph, const std::vector<EdgeTypeId>& metapath,
                       Direction direction) {
  const Schema& schema = graph.schema();
  const auto rule = [&](EdgeTypeId e) { return StepRule(*graph.access(), e, direction, ""); };
  const NodeTypeId first = SeedType(schema, rule(metapath.front()));
  const NodeTypeId last = NeighborType(schema, rule(metapath.back()));
  if (first != last) {
    Throw(ErrorCode::kInvalid, "the metapath of PinSAGE's walks leads from node type '",
          schema.ntype(first), "' to '", schema.ntype(last), "'; it must lead back");
  }
  return first;
}

// Appends the most visited nodes of `visited`, in which every visit is one entry, in any order.
void AppendMostVisited(std::vector<int64_t>& visited, int num_neighbors, VisitedNeighbors& out) {
  struct Visits {
    int64_t node, count;
  };
  std::vector<Visits> counted;
  std::sort(visited.begin(), visited.end());
  for (int64_t node : visited) {
    if (counted.empty() || counted.back().node != node) counted.push_back({node, 0});
    counted.back().count++;
  }
  const auto more = [](const Visits& a, const Visits& b) {
    return a.count != b.count ? a.count > b.count : a.node < b.node;
  };
  const auto wanted = num_neighbors < 0 ? counted.size() : static_cast<size_t>(num_neighbors);
  const size_t kept = std::min(counted.size(), wanted);
  std::partial_sort(counted.begin(), counted.begin() + static_cast<ptrdiff_t>(kept), counted.end(),
                    more);
  for (size_t i = 0; i < kept; i++) {
    out.neighbors.push_back(counted[i].node);
    out.visits.push_back(counted[i].count);
  }
  out.indptr.push_back(static_cast<int64_t>(out.neighbors.size()));
}

}  // namespace

VisitedNeighbors PinSageNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                                  const PinSageOptions& options) {
  CheckOptions(options);
  const std::vector<EdgeTypeId> once = MetapathOf(graph, options);
  const NodeTypeId ntype = CheckedType(graph, once, options.direction);
  const size_t hops = once.size();
  CheckWalkLength(static_cast<int64_t>(hops) * options.num_traversals);
  const auto walks_per_seed = static_cast<size_t>(options.num_random_walks);
  CheckWalkCount(seeds.size(), walks_per_seed, hops * static_cast<size_t>(options.num_traversals));
  WalkOptions walk{options.direction, options.prob, {}, false, options.seed};
  std::vector<EdgeTypeId> metapath;
  for (int i = 0; i < options.num_traversals; i++) {
    metapath.insert(metapath.end(), once.begin(), once.end());
    walk.restart_prob.push_back(i == 0 ? 0 : options.termination_prob);
    walk.restart_prob.resize(metapath.size(), 0);
  }
  std::vector<int64_t> starts;
  starts.reserve(seeds.size() * walks_per_seed);
  for (int64_t seed : seeds) starts.insert(starts.end(), walks_per_seed, seed);
  const Walks walks = RandomWalk(graph, starts, metapath, walk);
  VisitedNeighbors out;
  out.ntype = ntype;
  out.indptr.push_back(0);
  std::vector<int64_t> visited;
  for (size_t i = 0; i < seeds.size(); i++) {
    visited.clear();
    for (size_t w = i * walks_per_seed; w < (i + 1) * walks_per_seed; w++) {
      for (size_t at = hops; at <= walks.length && walks[w][at] >= 0; at += hops) {
        visited.push_back(walks[w][at]);
      }
    }
    AppendMostVisited(visited, options.num_neighbors, out);
  }
  return out;
}

}  // namespace graphd
