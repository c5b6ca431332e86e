// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graphd/walks.h"
#include "tests/unit/client/cut_graph.h"
#include "tests/unit/sampling/chi_square.h"

// Walks on graphs that are small enough to enumerate every walk.

namespace graphd::testing {

// The number of walks of a distribution test.
constexpr size_t kWalkTrials = 20000;

inline constexpr uint64_t kEnded = 999;  // the position after the end of a walk

// The edges include parallel ones (0 -> 1), a self loop (3), a dead end (5), cycles, and neighbours
// of neighbours.
inline const EdgeList kTinyEdges{{0, 1}, {0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 0},
                                 {1, 4}, {2, 0}, {2, 3}, {2, 5}, {3, 3}, {3, 0},
                                 {3, 4}, {4, 0}, {4, 1}, {4, 2}, {4, 3}};
inline constexpr int64_t kTinyNodes = 6;

// A step that a walker can take.
struct TinyEdge {
  uint64_t from, to;
  double weight;
};

// Returns the steps of a walk in this direction, with the weights of the feature "weight" or 1.
inline std::vector<TinyEdge> TinyEdges(Direction direction, bool weighted) {
  std::vector<TinyEdge> edges;
  for (size_t i = 0; i < kTinyEdges.size(); i++) {
    auto [from, to] = kTinyEdges[i];
    if (direction == Direction::kIn) std::swap(from, to);
    edges.push_back({from, to, weighted ? double{WeightValue(i)} : 1.0});
  }
  return edges;
}

// Returns the distribution of walks of `steps` steps. `bias(path so far, edge)` scales an edge's
// weight; `restart` is the probability of ending before each step.
using Bias = std::function<double(const Outcome& path, const TinyEdge& edge)>;
inline Probabilities WalkLaw(const std::vector<TinyEdge>& edges, uint64_t start, size_t steps,
                             const std::vector<double>& restart = {}, const Bias& bias = {}) {
  Probabilities distribution;
  const std::function<void(Outcome, double)> extend = [&](Outcome path, double probability) {
    const size_t step = path.size() - 1;
    if (step == steps) {
      distribution[path] += probability;
      return;
    }
    const double end = restart.empty() ? 0 : restart[step];
    double total = 0;
    std::vector<double> weights;
    for (const TinyEdge& edge : edges) {
      const bool leaves = edge.from == path.back();
      weights.push_back(!leaves ? 0 : edge.weight * (bias ? bias(path, edge) : 1));
      total += weights.back();
    }
    const double ends = total == 0 ? 1 : end;
    if (ends > 0) {
      Outcome ended = path;
      ended.resize(steps + 1, kEnded);
      distribution[ended] += probability * ends;
    }
    for (size_t i = 0; i < edges.size(); i++) {
      if (weights[i] == 0) continue;
      Outcome longer = path;
      longer.push_back(edges[i].to);
      extend(longer, probability * (1 - ends) * weights[i] / total);
    }
  };
  extend({start}, 1);
  return distribution;
}

// Counts the walks by their original ids.
inline Counts CountWalks(const CutGraph& graph, const Walks& walks) {
  Counts counts;
  for (size_t w = 0; w < walks.count; w++) {
    Outcome path;
    for (int64_t node : walks[w]) {
      path.push_back(node < 0 ? kEnded : static_cast<uint64_t>(graph.Original(node)));
    }
    counts[path]++;
  }
  return counts;
}

}  // namespace graphd::testing
