// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/huge_pages.h"
#include "base/row_access.h"

// The layout of a table's rows in memory that several processes map, and the functions that read
// and write a row there. Arena writes the memory, ArenaReader only reads it.
//
// The memory begins with a word per page of 64 rows and one word for the table. Then come the
// values, row after row. A page's word is a sequence lock (Boehm, "Can seqlocks get along with
// programming language memory models?", 2012): bit 0 is set while the page is being changed, bit 1
// is set if the page is in memory, and the other bits count changes. A reader compares the words
// from before and after it copies a row, and so never returns a torn row. The table's word is odd
// while a checkpoint is being restored. A reader compares this word in the same way, and so never
// returns a mixture of old and restored rows.

namespace graphd::store {

constexpr int64_t kPageRows = 64;

constexpr uint64_t kPageLocked = 1;
constexpr uint64_t kPageResident = 2;
constexpr uint64_t kPageChange = 4;

constexpr uint64_t ArenaPages(int64_t rows) noexcept {
  return static_cast<uint64_t>((rows + kPageRows - 1) / kPageRows);
}

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

// Returns the offset of the values; the words begin at 0.
constexpr uint64_t ArenaValuesOffset(int64_t rows) noexcept {
  return RoundUp((ArenaPages(rows) + 1) * sizeof(uint64_t), kHugePage);
}

// Returns the size of the whole memory, or nothing if no machine has that much.
constexpr std::optional<uint64_t> ArenaBytes(int64_t rows, size_t row_bytes) noexcept {
  uint64_t values = 0;
  if (rows < 0 || __builtin_mul_overflow(static_cast<uint64_t>(rows), row_bytes, &values) ||
      values > (uint64_t{1} << 46) || static_cast<uint64_t>(rows) > (uint64_t{1} << 46)) {
    return {};
  }
  return RoundUp(ArenaValuesOffset(rows) + values, kHugePage);
}

// The waits between attempts to get a page's lock, which is held for microseconds or, while the
// page is read from the disk, for longer.
class Backoff {
 public:
  static constexpr int kSpins = 80;  // calls of Wait before the first that sleeps (50 microseconds)

  void Wait() noexcept {
    if (rounds_ < 64) {
      __builtin_ia32_pause();
    } else if (rounds_ < kSpins) {
      ::sched_yield();
    } else {
      const timespec pause{0, 50'000};
      ::nanosleep(&pause, nullptr);
    }
    rounds_++;
  }
  int rounds() const noexcept { return rounds_; }

 private:
  int rounds_ = 0;
};

// Copies a row of the page that has this word; the copy is never torn. Returns false if the page is
// not in memory, or if it is still locked after `most_waits` waits of Backoff.
inline bool ReadRow(const std::atomic<uint64_t>& word, const std::byte* from, size_t row_bytes,
                    std::byte* out, int most_waits) noexcept {
  Backoff backoff;
  for (;;) {
    const uint64_t before = word.load(std::memory_order_acquire);
    if ((before & kPageResident) == 0) return false;
    if ((before & kPageLocked) != 0) {
      if (backoff.rounds() >= most_waits) return false;
      backoff.Wait();
      continue;
    }
    LoadRow(from, out, row_bytes);
    if (word.load(std::memory_order_relaxed) == before) return true;
  }
}

}  // namespace graphd::store
