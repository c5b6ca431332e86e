// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
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

// Samples edges of rows by every method. The result is a function of (key, stream of the row,
// contents of the row) alone, whichever process computes it and whatever else is in the call.
//
// Without replacement, a row gives min(fanout, eligible) edges; with replacement exactly fanout
// edges if any is eligible; fanout -1 gives all eligible edges (replace is ignored), 0 none. An
// edge is eligible if it is not excluded, its weight is above 0 (weighted, labor with weights) and
// its time is before the seed's (temporal).
//
//   kUniform          every set of edges, or every sequence with replacement, is equally likely
//   kWeighted         successive draws in proportion to weight among what is left (as
//                     numpy.random.choice(p=..., replace=False)), or independent draws
//   kTopK             the edges with the largest (or smallest) values, best first; ties by edge row
//   kTemporalUniform  kUniform among edges before the seed's time
//   kTemporalRecent   the latest edges before the seed's time, latest first; ties by edge row
//   kLabor            LABOR-0 (Balin and Catalyurek, "Layer-neighbor sampling", NeurIPS 2023), the
//                     sequential Poisson variant: the edges with the smallest r (r / weight), r
//                     depending on key and *neighbour* only, so that seeds share neighbours
//
// The out-edges of a seed may be spread over several partitions, whose samples are merged: a rule
// of direction kOut therefore also records arrival keys (arrival_key.h).

namespace graphd {

// The rows that edges are sampled from. Everything pointed to must outlive the call.
struct EdgeSource {
  const Csc* csc = nullptr;           // required
  const AliasIndex* alias = nullptr;  // kWeighted: required; kLabor: weights, null: unweighted
  const OrderIndex* order = nullptr;  // kTopK and temporal: required
  const EdgeSet* exclude = nullptr;   // local edge rows that are never sampled
};

// Upper bound of the edges that Pick returns, for bounding its memory (8 bytes each, 16 with
// arrival keys).
uint64_t MaxSampledEdges(const Csc& csc, std::span<const int64_t> rows, const SamplingRule& rule);

// Throws Error(kInvalid) for a fanout below -1, a method that cannot replace but should, and a
// missing index. The rule's edge type and column do not matter here.
void CheckRule(const EdgeSource& source, const SamplingRule& rule);

// Memory that a thread reuses from call to call. Not thread-safe.
class EdgePicker {
 public:
  // Samples edges of each row. Rows must be in range, or -1: a node without edges here. `streams`
  // has one number per row (usually the node's type-wise id); `times` one per row for the temporal
  // methods; `key` (SampleKey) and the row's stream give the row's random numbers. Returns the
  // number of sampled edges. Throws what CheckRule throws.
  size_t Pick(const EdgeSource& source, std::span<const int64_t> rows,
              std::span<const int64_t> streams, const SamplingRule& rule, uint64_t key,
              const SeedTimes& times = {});

  // Results, until the next Pick: edges per row; the slots, row after row; and for a rule of
  // direction kOut one arrival key per slot, ascending within a row except with replacement.
  std::span<const uint32_t> counts() const noexcept { return counts_; }
  std::span<const uint64_t> slots() const noexcept { return {slots_.data(), num_slots_}; }
  std::span<const ArrivalKey> arrival_keys() const noexcept {
    return {arrival_keys_.data(), with_arrivals_ ? num_slots_ : 0};
  }

 private:
  // The row being picked from.
  struct Row {
    size_t index;     // of the row number, in alias
    uint64_t begin;   // first slot
    uint64_t degree;  // or, for temporal methods, the number of edges before the seed's time
    uint64_t stream;
  };
  struct Entry {
    uint64_t begin, degree;
  };

  void Plan(std::span<const int64_t> rows, const SeedTimes& times);
  void Prefetch(std::span<const int64_t> rows, std::span<const int64_t> streams,
                size_t i) const noexcept;
  void PickRow(const Row& row);
  void Emit(uint64_t slot, ArrivalKey arrival = 0) {
    slots_[num_slots_] = slot;
    if (with_arrivals_) arrival_keys_[num_slots_] = arrival;
    num_slots_++;
  }
  bool Excluded(uint64_t slot) const noexcept;
  CounterRng Rng(const Row& row) const noexcept {
    return CounterRng(CombineKeys(key_, row.stream));
  }
  // Slot of the row's edge number `position`: in time, for temporal methods.
  uint64_t SlotAt(const Row& row, uint64_t position) const noexcept {
    return row.begin + (order_ ? order_->relative(row.begin + position) : position);
  }
  void ListEligible(const Row& row);

  // edge_picker_uniform.cc
  void Uniform(const Row& row);
  void UniformAgain(const Row& row);
  void UniformByArrival(const Row& row, CounterRng& rng);
  void UniformArrivals(const Row& row, CounterRng& rng);
  void UniformTimedDraws(const Row& row, CounterRng& rng);
  // edge_picker_weighted.cc
  void Weighted(const Row& row);
  void PrefetchDraws(const Row& row) const noexcept;
  uint64_t DrawWeighted(const Row& row, CounterRng& rng) const noexcept;
  void WeightedWithoutReplacement(const Row& row, CounterRng& rng);
  void WeightedByKeys(const Row& row, CounterRng& rng, uint64_t wanted, double now);
  void WeightedWithReplacement(const Row& row, CounterRng& rng);
  void WeightedFromEligible(const Row& row, CounterRng& rng, size_t first, double now);
  // edge_picker_ordered.cc
  uint64_t FirstEqual(uint64_t begin, uint64_t end) const noexcept;
  void Ordered(const Row& row, bool largest);
  void Labor(const Row& row);

  EdgeSource source_;
  const SamplingRule* rule_ = nullptr;  // while Pick runs
  uint64_t key_ = 0;
  bool with_arrivals_ = false;         // record arrival keys
  const OrderIndex* order_ = nullptr;  // kTemporalUniform: positions are ranks in it
  bool take_all_ = false;              // fanout -1
  bool replace_ = false;
  uint64_t fanout_ = 0;
  std::vector<Entry> plan_;
  std::vector<uint64_t> before_;  // temporal: edges before the seed's time, by row
  std::vector<uint32_t> counts_;
  std::vector<uint64_t> slots_;
  std::vector<ArrivalKey> arrival_keys_;
  size_t num_slots_ = 0;
  DistinctDraws distinct_;
  SmallestKeys smallest_;
  std::vector<uint64_t> eligible_;  // of a row that is enumerated
  std::vector<double> sums_;
};

}  // namespace graphd
