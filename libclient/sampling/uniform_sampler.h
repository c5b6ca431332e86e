// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "graph/partition.h"
#include "graphd/sampling_rule.h"

// Samples neighbours uniformly on one CSC: the kernel that runs in trainers on mapped memory, in
// the daemon for remote trainers, and in standalone mode.
//
// Samples without replacement by Floyd's algorithm (Bentley and Floyd, "A sample of brilliance",
// CACM 1987) with a byte per candidate in a tracker that is cleared after each row: O(fanout) for
// any degree, no allocation. Its branch is intended: when it is predicted correctly, the load of
// the neighbour starts without waiting (bench/sampling: a branch-free form is slower if the data is
// not in the cache).

namespace graphd {

// Memory that a thread reuses from call to call. Not thread-safe.
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
  // Draws positions 0..degree-1 without repetition, for degrees beyond the tracker.
  void FloydByTable(CounterRng& rng, uint64_t degree, uint32_t fanout);

  const Csc* csc_ = nullptr;
  std::span<const int64_t> ids_;
  bool replace_ = false;
  uint64_t key_ = 0;
  std::vector<Planned> planned_;
  std::vector<uint8_t> tracker_;   // all zero between rows
  std::vector<uint64_t> sampled_;  // positions of the current row
  std::vector<uint64_t> table_;    // open addressing, for hubs
};

// Turns positions in the CSC into type-wise edge ids, in place.
void PositionsToEdgeIds(const Partition& partition, EdgeTypeId etype,
                        std::span<uint64_t> positions);

}  // namespace graphd
