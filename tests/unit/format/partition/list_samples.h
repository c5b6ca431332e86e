// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "format/partition/neighbour_lists.h"

// Sample graphs as lists of neighbours, for the tests of multilevel partitioning.

namespace graphd::testing {

class ListSample {
 public:
  explicit ListSample(uint32_t nodes) : neighbours_(nodes) {}

  // Adds an edge. Call it before lists().
  void Add(uint32_t u, uint32_t v, uint32_t weight = 1) {
    neighbours_[u].emplace_back(v, weight);
    neighbours_[v].emplace_back(u, weight);
  }

  // Returns a view, for as long as this lives.
  NeighbourLists lists() const {
    ends_.clear();
    ids_.clear();
    weights_.clear();
    for (const auto& list : neighbours_) {
      for (const auto& [id, weight] : list) {
        ids_.push_back(id);
        weights_.push_back(weight);
      }
      ends_.push_back(ids_.size());
    }
    return {ends_, ids_, weights_};
  }

 private:
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> neighbours_;
  mutable std::vector<uint64_t> ends_;
  mutable std::vector<uint32_t> ids_, weights_;
};

// Returns edges of weights 1 to 5 between random ends, some of them repeated.
inline ListSample RandomLists(uint32_t nodes, int edges, uint64_t seed) {
  CounterRng rng(seed);
  ListSample sample(nodes);
  while (edges > 0) {
    const auto u = static_cast<uint32_t>(rng.Below(nodes));
    const auto v = static_cast<uint32_t>(rng.Below(nodes));
    if (u == v) continue;
    sample.Add(u, v, 1 + static_cast<uint32_t>(rng.Below(5)));
    edges--;
  }
  return sample;
}

}  // namespace graphd::testing
