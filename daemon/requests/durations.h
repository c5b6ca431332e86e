// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "wire/time_buckets.h"

namespace graphd {

// A histogram of times, which has 35 buckets in each power of ten from 1 us to 10,000 s. A bucket
// is at most 10 % wide, so that the bucket of a quantile gives the quantile with an error of at
// most 10 %. The bounds are round numbers, so that they can include the bounds of coarser
// histograms. Adding a time takes two relaxed atomic additions. Thread-safe, without locks: a
// reader may see a time in its bucket before it is in the sum. The histogram has its own cache
// lines.
class alignas(64) Durations {
 public:
  static constexpr size_t kDecades = 10, kPerDecade = 35;
  // The number of buckets. The first bucket has the times up to 1 us, and the last bucket also has
  // the times beyond its bound.
  static constexpr size_t kBuckets = 1 + kDecades * kPerDecade;

  void Add(Clock::duration time) noexcept {
    const int64_t nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    const uint64_t spent = nanoseconds > 0 ? static_cast<uint64_t>(nanoseconds) : 0;
    counts_[BucketOf(spent)].fetch_add(1, std::memory_order_relaxed);
    if (spent != 0) nanoseconds_.fetch_add(spent, std::memory_order_relaxed);
  }

  // Returns the times that were added until now.
  TimeBuckets Read() const {
    TimeBuckets times;
    times.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
    for (size_t i = 0; i < kBuckets; i++) {
      const uint64_t count = counts_[i].load(std::memory_order_relaxed);
      if (count != 0) times.buckets.push_back({BoundOf(i), count});
    }
    return times;
  }

  // Returns the bucket of a time in nanoseconds. The time does not exceed the bucket's bound,
  // except in the last bucket.
  static constexpr size_t BucketOf(uint64_t nanoseconds) noexcept {
    nanoseconds = std::min(nanoseconds, BoundOf(kBuckets - 1));
    if (nanoseconds <= kFirst) return 0;
    uint64_t unit = kFirst;
    size_t first = 1;
    for (; nanoseconds > 10 * unit; unit *= 10) first += kPerDecade;
    const uint64_t tenths = (nanoseconds - 1) * 10 / unit;  // 10 to 99
    if (tenths < 20) return first + tenths - 10;
    if (tenths < 50) return first + 10 + (tenths - 20) / 2;
    return first + 25 + (tenths - 50) / 5;
  }
  // Returns the longest time of a bucket, in nanoseconds.
  static constexpr uint64_t BoundOf(size_t bucket) noexcept {
    if (bucket == 0) return kFirst;
    uint64_t tenth = kFirst / 10;
    for (size_t i = 0; i < (bucket - 1) / kPerDecade; i++) tenth *= 10;
    const size_t i = (bucket - 1) % kPerDecade;
    if (i < 10) return tenth * (11 + i);
    if (i < 25) return tenth * (22 + 2 * (i - 10));
    return tenth * (55 + 5 * (i - 25));
  }

 private:
  static constexpr uint64_t kFirst = 1000;  // nanoseconds
  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> nanoseconds_{0};
};

}  // namespace graphd
