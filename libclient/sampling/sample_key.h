// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/rng.h"
#include "graphd/sampling_rule.h"

namespace graphd {

// Returns the key of the random numbers for one layer and type of a sample: an edge type or, where
// random numbers belong to nodes, a node type. Trainers compute it and send it to daemons.
inline uint64_t SampleKey(uint64_t seed, uint32_t layer, int32_t type) noexcept {
  return CombineKeys(CombineKeys(seed, layer), static_cast<uint64_t>(type));
}

// Returns the key for one of several parts (partitions, edge types) whose samples for the same
// seeds are merged: their arrival keys must be independent, so each part has a key of its own.
// LABOR keeps the key, since a neighbour's random number must be the same in every part.
inline uint64_t PartKey(SamplingMethod method, uint64_t key, uint32_t part) noexcept {
  return method == SamplingMethod::kLabor ? key : CombineKeys(key, uint64_t{part} + 1);
}

}  // namespace graphd
