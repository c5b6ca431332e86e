// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/sampling_context.h"

// A sampler of the edges of rows, by any of the sampling methods. The sample of a row depends only
// on the rule, the key, the excluded edges, and the row's stream, contents and time, and not on the
// process that computes it or on the other rows of the call.
//
// Without replacement, min(fanout, eligible) edges of a row are sampled; with replacement exactly
// fanout edges if any edge is eligible. Fanout -1 selects all eligible edges (`replace` is
// ignored), 0 none. An edge is eligible if it is not excluded, its weight is above 0 (weighted,
// labor with weights) and its time is before the seed's (temporal).
//
//   kUniform          every set of edges, or every sequence with replacement, is equally likely
//   kWeighted         successive draws in proportion to weight among what is left (as
//                     numpy.random.choice(p=..., replace=False)), or independent draws
//   kTopK             the edges with the largest (or smallest) values, best first; ties by edge row
//   kTemporalUniform  kUniform among edges before the seed's time
//   kTemporalRecent   the latest edges before the seed's time, latest first; ties by edge row
//   kLabor            LABOR-0 (Balin and Catalyurek, "Layer-neighbor sampling", NeurIPS 2023), the
//                     sequential Poisson variant: the edges with the smallest r, or r / weight.
//                     The random number r depends on key and *neighbour* only, so that
//                     seeds share neighbours
//
// The out-edges of a seed may be spread over several partitions, whose samples are then merged. So
// for a rule of direction kOut, the sampler also records arrival keys (arrival_key.h).

namespace graphd {

// Returns an upper bound of the number of edges that Sample returns, to bound its memory (8 bytes
// per edge, 16 with arrival keys).
uint64_t MaxSampledEdges(const Csc& csc, std::span<const int64_t> rows, const SamplingRule& rule);

// Throws Error(kInvalid) if the method does not exist, if the fanout is below -1, if the rule
// requires replacement and the method cannot sample with it, or if an index is missing. The rule's
// edge type and column are not checked.
void CheckRule(const EdgeSource& source, const SamplingRule& rule);

// The sampler, with memory that it reuses from call to call. Not thread-safe, so each thread has
// one of its own.
class EdgeSampler {
 public:
  // Samples edges of each row. A row is in range, or -1 for a node without edges in this partition.
  // `streams` has one number per row, which is usually the node's type-wise id. `key` (SampleKey)
  // and the row's stream determine the row's random numbers. For the temporal methods, `times` has
  // the time of the seed for each row. Returns the number of sampled edges. Throws what CheckRule
  // throws.
  size_t Sample(const EdgeSource& source, std::span<const int64_t> rows,
                std::span<const int64_t> streams, const SamplingRule& rule, uint64_t key,
                const SeedTimes& times = {});

  // Return the results, which are valid until the next call of Sample: the number of edges per row;
  // the slots, row after row; and for a rule of direction kOut one arrival key per slot, ascending
  // within a row except with replacement.
  std::span<const uint32_t> counts() const noexcept { return counts_; }
  std::span<const uint64_t> slots() const noexcept {
    return {context_.slots.data(), context_.num_slots};
  }
  std::span<const ArrivalKey> arrival_keys() const noexcept {
    return {context_.arrival_keys.data(), context_.with_arrivals ? context_.num_slots : 0};
  }

 private:
  struct Entry {
    uint64_t begin, degree;
  };

  void Plan(std::span<const int64_t> rows, const SeedTimes& times);
  void Prefetch(std::span<const int64_t> rows, std::span<const int64_t> streams,
                size_t i) const noexcept;
  void SampleRow(const SourceRow& row);

  SamplingContext context_;
  std::vector<Entry> plan_;       // by row
  std::vector<uint64_t> before_;  // temporal: edges before the seed's time, by row
  std::vector<uint32_t> counts_;
};

}  // namespace graphd
