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

// Random walks over all partitions. A step of all walks of a call sends one message to each
// partition that is not mapped.
//
// A walk is a function of the call's seed, its index in the call (the position of its starting
// node) and the graph, the same over RPC, through mapped memory and in standalone mode. A starting
// node that is listed twice begins two different walks. Calls with the same seed use the same
// random numbers; use different seeds for the calls of an epoch and for each trainer. The functions
// here are thread-safe.

namespace GRAPHD_EXPORT graphd {

// The settings of RandomWalk.
struct WalkOptions {
  // kOut follows edges in their direction, as DGL does. kIn follows them against it, which contacts
  // only the partitions that own the current nodes.
  Direction direction = Direction::kOut;
  // Edge feature with weights: float32, float64, or a mask. The probability of a step is
  // proportional to them. Edge types of the metapath without the feature are walked uniformly.
  // Empty: no weights.
  std::string prob = {};
  // The probability of ending before a step: one number for all steps, or one per step. Empty: 0.
  std::vector<double> restart_prob = {};
  bool edge_ids = false;  // return the ids of the edges
  uint64_t seed = 0;      // random seed
};

// The result of RandomWalk.
struct Walks {
  size_t count = 0;            // number of walks
  size_t length = 0;           // steps per walk
  std::vector<int64_t> nodes;  // [count, length + 1] type-wise ids; -1 after the end of a walk
  // [count, length] type-wise ids; -1 after the end of a walk. Empty unless requested.
  std::vector<int64_t> edge_ids = {};
  std::vector<NodeTypeId> ntypes;  // [length + 1] node types of the columns of `nodes`

  // Returns the nodes of one walk, [length + 1].
  std::span<const int64_t> operator[](size_t walk) const {
    return std::span(nodes).subspan(walk * (length + 1), length + 1);
  }
};

// Walks from each of `seeds` (type-wise ids) along the edge types of `metapath`, one step each. A
// walk ends early at a node without edges (or without edges of weight above 0), and with
// probability restart_prob. Matches dgl.sampling.random_walk(g, nodes, metapath=, prob=,
// restart_prob=, return_eids=), whose second result is `ntypes`.
//
// Throws Error(kInvalid) on a seed or type out of range, a metapath that is empty or whose types do
// not join, more than 2^20 steps, more than 2^30 nodes in the result, probabilities outside 0..1 or
// in another number than the steps; Error(kNotFound) if no edge type of the metapath has `prob`;
// and Error(kUnavailable) or Error(kDeadline) if a daemon does not answer.
Walks RandomWalk(const DistGraph& graph, std::span<const int64_t> seeds,
                 const std::vector<EdgeTypeId>& metapath, const WalkOptions& options = {});

// Walks `length` steps, 0 or more, on a graph with one node type and one edge type. Matches
// dgl.sampling.random_walk(g, nodes, length=...). Throws as the function above does.
Walks RandomWalkOfLength(const DistGraph& graph, std::span<const int64_t> seeds, int64_t length,
                         const WalkOptions& options = {});
// Does the same. It is a template so that an argument {0} is still a metapath and not a length.
template <std::integral Length>
Walks RandomWalk(const DistGraph& graph, std::span<const int64_t> seeds, Length length,
                 const WalkOptions& options = {}) {
  // A value that does not fit is either negative or far above the limit; -1 is rejected as well.
  const bool fits = std::in_range<int64_t>(length);
  return RandomWalkOfLength(graph, seeds, fits ? static_cast<int64_t>(length) : -1, options);
}

// The settings of Node2vecWalk.
struct Node2vecOptions {
  EdgeTypeId etype = 0;                   // edge type, with the same node type at both ends
  Direction direction = Direction::kOut;  // see WalkOptions
  std::string prob = {};                  // see WalkOptions
  bool edge_ids = false;                  // return the ids of the edges
  uint64_t seed = 0;                      // random seed
};

// Makes second-order walks (Grover and Leskovec, "node2vec", KDD 2016) of `walk_length` steps from
// each of `seeds`. At node v, reached from t, an edge to x is taken with probability proportional
// to its weight times
//   1/p  if x is t,
//   1    if there is an edge x -> t (against the direction of edges: t -> x), as in DGL,
//   1/q  otherwise.
// The first step is that of RandomWalk. Matches dgl.sampling.node2vec_random_walk(g, nodes, p, q,
// walk_length, prob=, return_eids=), which takes homogeneous graphs only.
//
// The distribution is exact for every p and q; values far from 1 cost more. A step makes up to six
// rounds of proposals for the walks that have no next node yet; most walks need one round. A round
// sends each partition one message that draws proposals and one that asks which edges exist. For
// the walks that remain after six rounds, all neighbours of their current nodes are listed.
//
// Throws as RandomWalk does, Error(kInvalid) on p or q outside 1e-100..1e100 and on an edge type
// between two node types, Error(kNotFound) if the edge type has no feature `prob`, and
// Error(kOverloaded) if the neighbours of one node have to be listed and are too many for the
// answer of a remote partition (about ten million; only if p and q make nearly all proposals fail).
Walks Node2vecWalk(const DistGraph& graph, std::span<const int64_t> seeds, double p, double q,
                   int64_t walk_length, const Node2vecOptions& options = {});

// The settings of PinSageNeighbors.
struct PinSageOptions {
  int num_traversals = 1;       // maximum number of traversals of the metapath per walk
  double termination_prob = 0;  // probability of ending after each traversal
  int num_random_walks = 1;     // walks from each seed
  int num_neighbors = 1;        // neighbours to return per seed; -1: all visited nodes
  // Edge types from a node type back to it. Empty: the only edge type of a homogeneous graph.
  std::vector<EdgeTypeId> metapath = {};
  Direction direction = Direction::kOut;  // see WalkOptions
  std::string prob = {};                  // see WalkOptions
  uint64_t seed = 0;                      // random seed
};

// The nodes that the walks of each seed visited most, in CSR format: the nodes of seeds[i] are the
// elements [indptr[i], indptr[i+1]) of the lists.
struct VisitedNeighbors {
  NodeTypeId ntype = 0;            // node type of seeds and neighbours
  std::vector<int64_t> indptr;     // [seeds + 1]
  std::vector<int64_t> neighbors;  // type-wise ids
  std::vector<int64_t> visits;     // number of visits of each neighbour: the edge's weight
};

// Returns neighbours by random walks (Ying et al., "Graph convolutional neural networks for
// web-scale recommender systems", KDD 2018): the nodes at which the walks of a seed were most often
// after traversing the metapath, ordered by visits, then by id. A seed may be its own neighbour. A
// seed that is listed twice has separate walks each time (DGL adds them up). Matches
// dgl.sampling.RandomWalkNeighborSampler, and PinSAGESampler with the metapath {there, back}.
//
// Throws as RandomWalk does, and Error(kInvalid) on a metapath that does not end at the node type
// where it begins, on fewer than 1 traversal or walk, and on num_neighbors below -1.
VisitedNeighbors PinSageNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                                  const PinSageOptions& options);

}  // namespace graphd
