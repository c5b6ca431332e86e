// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"
#include "graphd/sampling_rule.h"

// Random walks over all partitions. A step of all walks of a call is one message to each partition
// that is not mapped.
//
// A walk is a function of the call's seed, its number in the call (position of its starting node)
// and what it meets: the same over RPC, mapped memory and standalone. A starting node listed twice
// begins two different walks. Calls with the same seed use the same random numbers, so give every
// call of an epoch, and every trainer, a seed of its own. Functions here are thread-safe.

namespace GRAPHD_EXPORT graphd {

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

struct Node2vecOptions {
  EdgeTypeId etype = 0;                   // with one node type at both ends
  Direction direction = Direction::kOut;  // as in WalkOptions
  std::string prob = {};                  // as in WalkOptions
  bool edge_ids = false;                  // also tell the edges
  uint64_t seed = 0;
};

// Second-order walks (Grover and Leskovec, "node2vec", KDD 2016) of `walk_length` steps. From v,
// reached from t, an edge to x is taken in proportion to its weight times
//   1/p  if x is t,
//   1    if there is an edge x -> t (walking against edges: t -> x), as DGL asks,
//   1/q  otherwise.
// The first step is that of a RandomWalk. Exact for every p and q; far from 1 they cost more. A
// step is up to six rounds of proposals, each one message per partition and one about edges, of
// which most walks need one; what is left lists its nodes' neighbours. Matches
// dgl.sampling.node2vec_random_walk(g, nodes, p, q, walk_length, prob=, return_eids=), which takes
// homogeneous graphs only.
//
// Throws as RandomWalk does, and Error(kInvalid) on p or q outside 1e-100..1e100 and on an edge
// type between two node types; Error(kNotFound) if the edge type has no feature `prob`;
// Error(kOverloaded) if the neighbours of one node have to be listed and are too many for the
// answer of a remote partition (some ten million; only where p and q leave hardly any proposal).
Walks Node2vecWalk(const DistGraph& graph, std::span<const int64_t> seeds, double p, double q,
                   int64_t walk_length, const Node2vecOptions& options = {});

struct PinSageOptions {
  int num_traversals = 1;       // of the metapath in one walk, at most
  double termination_prob = 0;  // of ending after each traversal
  int num_random_walks = 1;     // from each seed
  int num_neighbors = 1;        // to keep; -1: all that were visited
  // From a node type back to it. Empty: the only edge type of a homogeneous graph.
  std::vector<EdgeTypeId> metapath = {};
  Direction direction = Direction::kOut;
  std::string prob = {};  // as in WalkOptions
  uint64_t seed = 0;
};

// The most visited nodes of each seed: those of seeds[i] are [indptr[i], indptr[i+1]).
struct VisitedNeighbors {
  NodeTypeId ntype = 0;            // of seeds and neighbours
  std::vector<int64_t> indptr;     // [seeds + 1]
  std::vector<int64_t> neighbors;  // type-wise ids
  std::vector<int64_t> visits;     // how often each was visited: the edge's weight
};

// Neighbours by random walks (Ying et al., "Graph convolutional neural networks for web-scale
// recommender systems", KDD 2018): the nodes that a seed's walks were at most often when they had
// traversed the metapath, most visited first, ties by lower id. A seed may be its own neighbour.
// One listed twice has walks of its own each time (DGL adds them up). Matches
// dgl.sampling.RandomWalkNeighborSampler, and PinSAGESampler with the metapath {there, back}.
//
// Throws as RandomWalk does, and Error(kInvalid) on a metapath that does not end at the type where
// it begins, fewer than 1 traversal or walk, num_neighbors below -1.
VisitedNeighbors PinSageNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                                  const PinSageOptions& options);

}  // namespace graphd
