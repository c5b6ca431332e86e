// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/partition.h"
#include "graphd/sampling_rule.h"
#include "sampling/distinct_draws.h"

// Functions that sample neighbours uniformly from one Csc. They run in trainers on mapped memory,
// in the daemon for trainers on other machines, and in standalone mode.
//
// The positions of some hundred edges are drawn and prefetched before any of their neighbours is
// read. So many of these loads are under way at the same time, even if the processor mispredicts
// branches while it draws.

namespace graphd {

// A sampler that draws neighbours in two steps, Plan and then Sample. It keeps its buffers from
// call to call, so a thread should reuse one. Not thread-safe.
class UniformSampler {
 public:
  // Does the first step: reads the offsets of `rows`, which are local rows of the destination type
  // in range, and returns the total number of neighbours that Sample will write. If `counts` is not
  // empty, writes their number for each row to it. `ids` has the type-wise ids of the nodes in
  // `rows`; they and `key` (SampleKey) determine the random numbers. Only the rule's fanout and
  // replace are used. `ids` and the Csc must live until Sample has returned.
  size_t Plan(const Csc& csc, std::span<const int64_t> rows, std::span<const int64_t> ids,
              const SamplingRule& rule, uint64_t key, std::span<uint32_t> counts);

  // Does the second step: writes the type-wise ids of the neighbours, row after row, and, unless
  // `positions` is null, the positions of the sampled edges in the Csc. Out is uint32_t (if the
  // Csc's indices are), uint64_t or int64_t.
  template <class Out>
  void Sample(Out* neighbors, uint64_t* positions);

 private:
  struct Planned {
    uint64_t begin;
    uint64_t degree;
    uint32_t count;
  };
  template <class Index, class Out>
  void SampleFrom(const Index* indices, Out* neighbors, uint64_t* positions);

  const Csc* csc_ = nullptr;
  std::span<const int64_t> ids_;
  bool replace_ = false;
  uint64_t key_ = 0;
  std::vector<Planned> planned_;
  DistinctDraws distinct_;
  std::vector<uint64_t> drawn_;  // positions whose neighbours were not read yet
};

// Turns positions in the CSC into type-wise edge ids, in place.
void PositionsToEdgeIds(const Partition& partition, EdgeTypeId etype,
                        std::span<uint64_t> positions);

}  // namespace graphd
