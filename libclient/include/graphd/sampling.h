// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"
#include "graphd/sampling_rule.h"

// Samples the neighbours of nodes, over all partitions: one hop at a time. Samplers that make the
// blocks of a whole mini-batch are in graphd/samplers.h.
//
// A sample is a pure function of (seed, layer, edge type, direction, node): the same seed gives the
// same neighbours over RPC, through mapped memory and in standalone mode, whatever the number of
// threads and trainers. It follows that a node listed twice in one call gets the same neighbours
// twice (DGL draws again); give HopSeeds::streams to make the occurrences differ. Functions here
// are thread-safe. A call sends one message to each partition that is not mapped and owns a seed.

namespace GRAPHD_EXPORT graphd {

// The neighbours sampled for the seeds along one edge type. The neighbours of seeds[i] are the
// elements [indptr[i], indptr[i+1]) of the lists. All ids are type-wise.
struct Neighbors {
  EdgeTypeId etype = 0;
  std::vector<int64_t> indptr;         // [seeds + 1]
  std::vector<int64_t> neighbors;      // sources of in-edges, destinations of out-edges
  std::vector<int64_t> edge_ids = {};  // empty unless asked for
  Direction direction = Direction::kIn;
};

struct HopOptions {
  uint64_t seed = 0;      // seed of the random stream
  uint32_t layer = 0;     // number of the hop in its batch; each has its own random numbers
  bool edge_ids = false;  // also return the ids of the sampled edges
  // Edges that are never chosen: type-wise ids by edge type (empty: none), in any order. A seed
  // gets other edges in their place, if it has any. (DGL >= 2.3 drops them after sampling.)
  std::span<const std::vector<int64_t>> exclude = {};
};

// Samples one hop: applies every rule to the seeds of its node type (the destination type of
// in-edges, the source type of out-edges). `seeds` is indexed by node type; types beyond its end
// have none. Returns one Neighbors per rule, in the order of `rules`.
//
// Throws Error(kInvalid) on a seed, stream, edge or type out of range, a fanout below -1, times
// that are missing or of another length, a column of more than one dimension or of weights that are
// negative or not finite; Error(kNotFound) on an unknown column; Error(kOverloaded) if the answer
// of one remote partition would exceed 256 MiB.
std::vector<Neighbors> SampleHop(const DistGraph& graph, std::span<const HopSeeds> seeds,
                                 std::span<const SamplingRule> rules,
                                 const HopOptions& options = {});

struct SampleOptions {
  int fanout = kAllNeighbors;
  bool replace = false;
  uint64_t seed = 0;
  uint32_t layer = 0;
  bool edge_ids = false;
  Direction direction = Direction::kIn;
  std::string prob = {};  // edge feature: weights (float) or a mask (bool, uint8, int8)
  std::span<const int64_t> exclude = {};  // edges of this type
};

// Samples along one edge type, uniformly or, with `prob`, by weight. Matches
// dgl.distributed.sample_neighbors for that type: it returns min(fanout, degree) neighbours without
// replacement, or `fanout` neighbours with replacement, and never an edge of probability 0. Throws
// as SampleHop does.
Neighbors SampleNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                          const SampleOptions& options, EdgeTypeId etype = 0);

// Samples along every edge type, each with its own fanout (`fanouts` by edge type, `seeds` by node
// type). Matches dgl.distributed.sample_etype_neighbors; `options.fanout` and `exclude` are not
// used. An edge type without the feature `prob` is sampled uniformly. Throws Error(kNotFound) if no
// edge type has it, and otherwise as SampleHop does.
std::vector<Neighbors> SampleEtypeNeighbors(const DistGraph& graph,
                                            const std::vector<std::vector<int64_t>>& seeds,
                                            std::span<const int> fanouts,
                                            const SampleOptions& options);

}  // namespace graphd
