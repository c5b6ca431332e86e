// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "graphd/export.h"
#include "graphd/schema.h"

// Sampling rules, which tell a trainer or a daemon which edges of a node to sample.

namespace GRAPHD_EXPORT graphd {

inline constexpr int kAllNeighbors = -1;

// Direction of the sampled edges. kIn: edges that end in a seed, as message passing needs them; the
// seed's owner stores them. kOut: edges that begin in a seed; the owners of their destinations
// store them, so every partition is asked (the first call makes each partition index its edges by
// source).
enum class Direction : uint8_t { kIn = 0, kOut = 1 };

enum class SamplingMethod : uint8_t {
  // All edges are equally likely.
  kUniform,
  // With probability proportional to the column: float32 or float64 weights, or a mask (bool,
  // uint8, int8). Without replacement edges are drawn one after another from those that are left.
  // Edges of weight 0 are never chosen. Matches `prob` of DGL's samplers.
  kWeighted,
  // The edges with the largest (or smallest) values of the column, best first. Edges of equal value
  // are ordered by edge id (out-edges with IdMap::FromOwners: by partition, then by edge id).
  // Matches dgl.sampling.select_topk.
  kTopK,
  // Uniformly among the edges whose time in the column is before the seed's time.
  kTemporalUniform,
  // The most recent edges before the seed's time, latest first.
  kTemporalRecent,
  // LABOR-0 (Balin and Catalyurek, "Layer-Neighbor Sampling", NeurIPS 2023), sequential Poisson
  // variant. Every node has a random number, which is the same for all seeds and edge types of a
  // hop. A seed gets the edges to the neighbours with the smallest numbers, so that seeds choose
  // the same neighbours where they can. With a column, numbers are divided by its weights. Never
  // with replacement.
  kLabor,
};
inline constexpr int kNumSamplingMethods = 6;

// The edges to sample along one edge type.
struct SamplingRule {
  EdgeTypeId etype = 0;
  Direction direction = Direction::kIn;
  SamplingMethod method = SamplingMethod::kUniform;
  int fanout = kAllNeighbors;  // per seed; -1: all eligible edges, 0: none
  bool replace = false;        // kUniform, kWeighted, kTemporalUniform: exactly `fanout` edges, if
                               // any is eligible
  std::string column = {};     // edge feature of one dimension; see SamplingMethod
  bool largest = true;         // kTopK: the largest values; false: the smallest
  bool inclusive = false;      // temporal: also edges at the seed's time itself
};

// Nodes of one type whose neighbours are sampled.
struct HopSeeds {
  std::span<const int64_t> ids;           // type-wise, duplicates allowed
  std::span<const int64_t> streams = {};  // [ids] random stream of each, 0..2^32-1; empty: the ids
  std::span<const int64_t> times = {};    // [ids] for temporal rules on an integer column
  std::span<const double> real_times = {};  // [ids] for temporal rules on a floating-point column
};

}  // namespace graphd
