// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/partition.h"
#include "graphd/sampling_rule.h"
#include "sampling/distinct_draws.h"

// Samples neighbours uniformly on one CSC: the kernel that runs in trainers on mapped memory, in
// the daemon for remote trainers, and in standalone mode.
//
// Positions are drawn for some hundred edges before their neighbours are read. So many of these
// loads are under way at once, even if the processor mispredicts branches while it draws.

namespace graphd {

// A sampler that draws neighbours in two steps, Plan and then Sample. It keeps its buffers from
// call to call, so a thread should reuse one. Not thread-safe.
class UniformSampler {
 public:
  // Does the first step: reads the offsets of `rows` (local rows of the destination type, in range)
  // and returns the total number of neighbours. The sample is a function of `ids`, the same nodes'
  // type-wise ids, and of `key` (SampleKey); of the rule, only fanout and replace are used. `ids`
  // and the CSC must live until Sample has returned. `counts`, if not empty, takes the number per
  // row.
  size_t Plan(const Csc& csc, std::span<const int64_t> rows, std::span<const int64_t> ids,
              const SamplingRule& rule, uint64_t key, std::span<uint32_t> counts);

  // Does the second step: writes the type-wise ids of the neighbours, row after row, and, unless
  // `positions` is null, the sampled positions in the CSC. Out is uint32_t (if the CSC's indices
  // are), uint64_t or int64_t.
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
