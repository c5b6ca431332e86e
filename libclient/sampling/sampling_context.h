// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "graph/partition.h"
#include "graphd/sampling_rule.h"
#include "sampling/arrival_key.h"
#include "sampling/distinct_draws.h"
#include "sampling/edge_set.h"
#include "sampling/index/alias_index.h"
#include "sampling/index/order_index.h"
#include "sampling/smallest_keys.h"

namespace graphd {

// The rows from which edges are sampled, and the indexes that this needs. All objects to which it
// points must outlive the call.
struct EdgeSource {
  const Csc* csc = nullptr;           // required
  const AliasIndex* alias = nullptr;  // weights: required by kWeighted, optional for kLabor
  const OrderIndex* order = nullptr;  // required by kTopK and the temporal methods
  const EdgeSet* exclude = nullptr;   // local edge rows that are never sampled
};

// The row that a kernel samples.
struct SourceRow {
  size_t index;     // number of the row in the Csc, for the alias index
  uint64_t begin;   // first slot
  uint64_t degree;  // number of edges; in temporal methods, of those before the seed's time
  uint64_t stream;
};

// The state that the sampling kernels share: one call's rule and source, its output, and memory
// that is reused from call to call.
struct SamplingContext {
  EdgeSource source;
  const SamplingRule* rule = nullptr;  // valid during the call
  uint64_t key = 0;
  const OrderIndex* order = nullptr;  // kTemporalUniform: positions are ranks in it
  bool with_arrivals = false;         // record arrival keys
  bool take_all = false;              // fanout -1
  bool replace = false;
  uint64_t fanout = 0;

  // The output: the slots of the sampled edges, and their arrival keys. Both vectors have room for
  // all edges that can be sampled, and their first num_slots elements are in use.
  std::vector<uint64_t> slots;
  std::vector<ArrivalKey> arrival_keys;
  size_t num_slots = 0;

  DistinctDraws distinct;
  SmallestKeys smallest;
  std::vector<uint64_t> eligible;  // slots or positions of edges that may still be drawn
  std::vector<double> sums;

  void Emit(uint64_t slot, ArrivalKey arrival = 0) {
    slots[num_slots] = slot;
    if (with_arrivals) arrival_keys[num_slots] = arrival;
    num_slots++;
  }
  bool Excluded(uint64_t slot) const noexcept {
    if (!source.exclude) return false;
    const auto& rows = source.csc->edge_rows;
    return source.exclude->Contains(rows ? (*rows)[slot] : slot);
  }
  CounterRng Rng(const SourceRow& row) const noexcept {
    return CounterRng(CombineKeys(key, row.stream));
  }
  // Returns the slot of the row's edge number `position`. For kTemporalUniform, edges are numbered
  // in the order of time.
  uint64_t SlotAt(const SourceRow& row, uint64_t position) const noexcept {
    return row.begin + (order ? order->relative(row.begin + position) : position);
  }
  // Sets `eligible` to the slots of a row's edges that are not excluded.
  void ListEligible(const SourceRow& row) {
    eligible.clear();
    for (uint64_t position = 0; position < row.degree; position++) {
      const uint64_t slot = SlotAt(row, position);
      if (!Excluded(slot)) eligible.push_back(slot);
    }
  }
};

}  // namespace graphd
