// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "graphd/export.h"
#include "graphd/schema.h"

// How neighbours are chosen. Values; what they do is the same in trainers and daemons.

namespace GRAPHD_EXPORT graphd {

inline constexpr int kAllNeighbors = -1;

// Whose edges: kIn those that end in a seed (what message passing needs; they lie with the seed's
// owner), kOut those that begin in it (they lie with the owners of their destinations, so every
// partition is asked; the first call makes each partition index its edges by source).
enum class Direction : uint8_t { kIn = 0, kOut = 1 };

enum class SamplingMethod : uint8_t {
  // Every edge equally likely.
  kUniform,
  // With probability proportional to the column: float32 or float64 weights, or a mask (bool,
  // uint8, int8). Without replacement edges are drawn one after another from those that are left.
  // Edges of weight 0 are never chosen. Matches `prob` of DGL's samplers.
  kWeighted,
  // The edges with the largest (or smallest) values of the column, best first; ties by edge id (of
  // out-edges in a mapped book by partition, then edge id). Matches dgl.sampling.select_topk.
  kTopK,
  // Only edges older than the seed's time by the column, uniformly.
  kTemporalUniform,
  // Of those, the most recent ones, latest first.
  kTemporalRecent,
  // LABOR-0 (Balin and Catalyurek, "Layer-Neighbor Sampling", NeurIPS 2023), sequential Poisson
  // variant: the edges whose neighbours have the smallest random numbers, the numbers being shared
  // by all seeds and edge types of a hop, so that seeds choose the same neighbours where they can.
  // With a column, numbers are divided by its weights. Never with replacement.
  kLabor,
};
inline constexpr int kNumSamplingMethods = 6;

// What to choose along one edge type.
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

}  // namespace graphd
