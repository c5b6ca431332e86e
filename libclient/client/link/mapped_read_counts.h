// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "wire/status.h"

namespace graphd {

// Counts what this process reads in the mapped memory of a daemon, until the daemon is told.
// Thread-safe, without locks; it has a cache line of its own.
class alignas(64) MappedReadCounts {
 public:
  // Adds the reads of one call or more. Their calls are added last, and seen by Take only with all
  // the rest.
  void Add(const MappedReads& reads) noexcept {
    AddTo(rows_, reads.rows);
    AddTo(bytes_, reads.bytes);
    AddTo(edges_, reads.edges);
    calls_.fetch_add(reads.calls, std::memory_order_release);
  }
  // Returns the counts, and starts again at 0. Rows whose call is not added yet may be among them;
  // then the call is returned by a later Take. If no call was added, nothing is taken.
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
