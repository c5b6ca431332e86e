// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "graphd/error.h"

namespace graphd {

// The kinds of requests whose times are told apart.
enum class RequestKind { kSample, kGather, kEdges, kReadRows, kChangeRows, kBarrier, kOther };
inline constexpr std::array<const char*, 7> kRequestKinds{
    "sample", "gather", "edges", "read_rows", "change_rows", "barrier", "other"};

// A histogram of times. Thread-safe, without locks: a reader may see a time in the sum before it is
// in a bucket. It has cache lines of its own.
class alignas(64) Durations {
 public:
  // The upper bounds of the buckets, in seconds; the last bucket has no bound.
  static constexpr std::array<double, 11> kBounds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                                  0.1,    0.3,    1,     3,     10};

  void Add(Clock::duration time) noexcept {
    const double seconds = std::chrono::duration<double>(time).count();
    size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) bucket++;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()),
        std::memory_order_relaxed);
  }
  // Returns the number of times in a bucket, those of the buckets before it not included.
  uint64_t count(size_t bucket) const noexcept {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  double sum_seconds() const noexcept {
    return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
  }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<uint64_t> nanoseconds_{0};
};

// The daemon's statistics of all requests since its start. Any thread may change them; they have
// cache lines of their own.
struct alignas(64) RequestCounters {
  std::atomic<uint64_t> requests{0}, rows_served{0}, edges_sampled{0}, bytes_sent{0};
  std::atomic<uint64_t> rows_cached{0}, rows_not_cached{0};  // by the caches of clients
  std::atomic<uint64_t> checkpoints{0};  // shares of checkpoints that were written
  // Requests that failed, by ErrorCode.
  std::array<std::atomic<uint64_t>, static_cast<size_t>(ErrorCode::kInternal) + 1> errors{};
  // The times of requests that have ended, from their arrival until they were answered or
  // cancelled, by RequestKind.
  std::array<Durations, kRequestKinds.size()> durations;

  void CountError(ErrorCode code) noexcept {
    errors[static_cast<size_t>(code)].fetch_add(1, std::memory_order_relaxed);
  }
  // Counts the rows that a client has looked for in its cache.
  void CountCached(uint64_t found, uint64_t not_found) noexcept {
    if (found != 0) rows_cached.fetch_add(found, std::memory_order_relaxed);
    if (not_found != 0) rows_not_cached.fetch_add(not_found, std::memory_order_relaxed);
  }
  Durations& durations_of(RequestKind kind) noexcept {
    return durations[static_cast<size_t>(kind)];
  }
};

}  // namespace graphd
