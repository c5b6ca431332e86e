// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "wire/graphd.capnp.h"

namespace graphd {

// The number of times that are at most the bound of this bucket, and above the bound of the bucket
// before it.
struct TimeBucket {
  uint64_t nanoseconds = 0;  // the bound
  uint64_t count = 0;
};

// The distribution of the times that were counted since some start. If two distributions come from
// the same process, the later one includes all times of the earlier one. A plain value.
struct TimeBuckets {
  double seconds = 0;               // the sum of all times
  std::vector<TimeBucket> buckets;  // all that are not empty, by ascending bound

  uint64_t count() const noexcept;
  // Returns a time in seconds which the share `q` (0 to 1) of all times did not exceed: the bound
  // of the bucket that has this quantile. Returns 0 if there are no times.
  double Quantile(double q) const noexcept;
  // Returns the times that were added after `before`, an earlier distribution of the same process.
  TimeBuckets Since(const TimeBuckets& before) const;
  // Adds the times of another distribution.
  void Add(const TimeBuckets& other);
};

void WriteTimes(const TimeBuckets& times, wire::Times::Builder out);
// Throws Error(kCorrupt) for too many buckets, or bounds that do not ascend.
TimeBuckets ReadTimes(wire::Times::Reader in);

}  // namespace graphd
