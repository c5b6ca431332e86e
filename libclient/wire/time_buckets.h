// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "wire/graphd.capnp.h"

namespace graphd {

// The number of times that are at most a bound, and above the bound of the bucket before it.
struct TimeBucket {
  uint64_t nanoseconds = 0;  // the bound
  uint64_t count = 0;
};

// The distribution of times that were counted since some start. Of two distributions of the same
// process, the later one has all times of the earlier one. A plain value.
struct TimeBuckets {
  double seconds = 0;               // the sum of all times
  std::vector<TimeBucket> buckets;  // those that are not empty, by ascending bound

  uint64_t count() const noexcept;
  // Returns a time in seconds that the share `q` (0 to 1) of all times did not exceed: the bound of
  // the bucket in which that quantile is. Returns 0 if there are no times.
  double Quantile(double q) const noexcept;
  // Returns the times that are not in `before`, an earlier distribution.
  TimeBuckets Since(const TimeBuckets& before) const;
  // Adds the times of another distribution.
  void Add(const TimeBuckets& other);
};

void WriteTimes(const TimeBuckets& times, wire::Times::Builder out);
// Throws Error(kCorrupt) for too many buckets, or bounds that do not ascend.
TimeBuckets ReadTimes(wire::Times::Reader in);

}  // namespace graphd
