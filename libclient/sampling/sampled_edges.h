// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "sampling/arrival_key.h"

namespace graphd {

// The edges that one rule sampled in one partition, seed after seed. Id is uint32_t (if the ids of
// the neighbours' type fit), uint64_t or int64_t.
template <class Id>
struct SampledEdges {
  std::vector<uint32_t> counts;          // per seed
  std::vector<Id> neighbors;             // type-wise
  std::vector<int64_t> edge_ids;         // type-wise; empty unless requested
  std::vector<ArrivalKey> arrival_keys;  // out-edges: one per edge, for MergeByArrival
};

}  // namespace graphd
