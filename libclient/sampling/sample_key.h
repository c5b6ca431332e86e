// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/rng.h"
#include "graphd/sampling_rule.h"

namespace graphd {

// Returns the key of the random numbers for one layer and edge type of a sample. Trainers compute
// it and send it to daemons.
inline uint64_t SampleKey(uint64_t seed, uint32_t layer, EdgeTypeId etype) noexcept {
  return CombineKeys(CombineKeys(seed, layer), static_cast<uint64_t>(int32_t{etype}));
}
// Returns the key of random numbers that belong to the nodes of a type, for one layer of a sample.
inline uint64_t SampleKey(uint64_t seed, uint32_t layer, NodeTypeId ntype) noexcept {
  return CombineKeys(CombineKeys(seed, layer), static_cast<uint64_t>(int32_t{ntype}));
}

// Returns the key for one of several parts (partitions, edge types) if samples from them for the
// same seeds are merged. The parts' arrival keys must be independent, so each part has a key of its
// own. For LABOR, all parts have the same key, because a neighbour's random number must be the same
// in every part.
inline uint64_t PartKey(SamplingMethod method, uint64_t key, uint32_t part) noexcept {
  return method == SamplingMethod::kLabor ? key : CombineKeys(key, uint64_t{part} + 1);
}

}  // namespace graphd
