// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "wire/status.h"

namespace graphd {

// The counts of what this process has read in the mapped memory of a daemon since it last told the
// daemon. Thread-safe, without locks. It has a cache line of its own.
class alignas(64) MappedReadCounts {
 public:
  // Adds the reads of one call or more. The number of calls is added last, so that Take sees it
  // only together with the other counts of these calls.
  void Add(const MappedReads& reads) noexcept {
    AddTo(rows_, reads.rows);
    AddTo(bytes_, reads.bytes);
    AddTo(edges_, reads.edges);
    calls_.fetch_add(reads.calls, std::memory_order_release);
  }
  // Returns the counts, and resets them to 0. The counts of rows, bytes and edges may include a
  // call whose number Add has not added yet; a later Take then returns that number. If no call was
  // added since the last Take, nothing is taken.
  MappedReads Take() noexcept {
    if (calls_.load(std::memory_order_relaxed) == 0) return {};
    const uint64_t calls = calls_.exchange(0, std::memory_order_acquire);
    return {calls, rows_.exchange(0, std::memory_order_relaxed),
            bytes_.exchange(0, std::memory_order_relaxed),
            edges_.exchange(0, std::memory_order_relaxed)};
  }

 private:
  static void AddTo(std::atomic<uint64_t>& count, uint64_t more) noexcept {
    if (more != 0) count.fetch_add(more, std::memory_order_relaxed);
  }
  std::atomic<uint64_t> calls_{0}, rows_{0}, bytes_{0}, edges_{0};
};

}  // namespace graphd
