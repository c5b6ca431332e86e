// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/pick.h"

// Random walks over all partitions. A step of all walks of a call is one message to each partition
// that is not mapped.
//
// A walk is a function of the call's seed, its number in the call (position of its starting node)
// and what it meets: the same over RPC, mapped memory and standalone. A starting node listed twice
// begins two different walks. Calls with the same seed use the same random numbers, so give every
// call of an epoch, and every trainer, a seed of its own. Functions here are thread-safe.

namespace graphd {

struct WalkOptions {
  // kOut follows edges as they point, as DGL does; kIn walks against them (and asks only the
  // partitions where walks are).
  Direction direction = Direction::kOut;
  // Edge feature with the weights of edges, float32 or float64, or a mask: a step is taken in
  // proportion to them. Edge types of the metapath that don't have it are walked uniformly.
  std::string prob = {};
  // Probability of ending before a step: one number for every step, or one per step; none: 0.
  std::vector<double> restart_prob = {};
  bool edge_ids = false;  // also tell the edges
  uint64_t seed = 0;
};

struct Walks {
  size_t count = 0;
  size_t length = 0;                   // in steps
  std::vector<int64_t> nodes;          // [count, length + 1] type-wise ids; -1 after a walk's end
  std::vector<int64_t> edge_ids = {};  // [count, length] type-wise ids, -1 after the end; if asked
  std::vector<NodeTypeId> ntypes;      // [length + 1] of the columns of `nodes`

  // The nodes of one walk.
  std::span<const int64_t> operator[](size_t walk) const {
    return std::span(nodes).subspan(walk * (length + 1), length + 1);
  }
};

// One walk from each of `seeds`, along the edge types of `metapath`, one step each. A walk ends
// early at a node without edges (or without edges of weight above 0), and with restart_prob.
// Matches dgl.sampling.random_walk(g, nodes, metapath=, prob=, restart_prob=, return_eids=), whose
// second result is `ntypes`.
//
// Throws Error(kInvalid) on a seed or type out of range, an empty metapath or one whose types don't
// meet, more than 2^20 steps, more than 2^30 nodes in the result, probabilities outside 0..1 or of
// another number than steps; Error(kNotFound) if no edge type of the metapath has `prob`.
Walks RandomWalk(const DistGraph& graph, std::span<const int64_t> seeds,
                 const std::vector<EdgeTypeId>& metapath, const WalkOptions& options = {});

// On a graph with one node type and one edge type: walks of `length` steps, 0 or more. Matches
// dgl.sampling.random_walk(g, nodes, length=...). (A template, so that {0} stays a metapath.)
Walks RandomWalkOfLength(const DistGraph& graph, std::span<const int64_t> seeds, int64_t length,
                         const WalkOptions& options = {});
template <std::integral Length>
Walks RandomWalk(const DistGraph& graph, std::span<const int64_t> seeds, Length length,
                 const WalkOptions& options = {}) {
  // What does not fit comes out negative, or is far too much anyway.
  const bool fits = std::in_range<int64_t>(length);
  return RandomWalkOfLength(graph, seeds, fits ? static_cast<int64_t>(length) : -1, options);
}

}  // namespace graphd
