// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <emmintrin.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/large_pages.h"

// How a table's rows lie in memory that several processes map, and how a row is read there: what
// Arena, which writes, and ArenaReader, which only reads, have in common.
//
// First a word per page of 64 rows and one of the whole table, then the values, row after row. A
// page's word is a sequence lock (Boehm, "Can seqlocks get along with programming language memory
// models?", 2012): bit 0 is set while somebody changes the page, bit 1 says that the page is in
// memory, and the rest counts changes. Values are written and read in pieces that are whole; who
// reads a row compares the word before and after, and so never sees a row half changed. The table's
// word is odd while the rows of a checkpoint come in: who has read rows compares it, too, and so
// never sees some of them.

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

// Where the values begin; the words begin at 0.
constexpr uint64_t ArenaValuesOffset(int64_t rows) noexcept {
  return RoundUp((ArenaPages(rows) + 1) * sizeof(uint64_t), kLargePage);
}

// The whole; nothing if no machine has that much.
constexpr std::optional<uint64_t> ArenaBytes(int64_t rows, size_t row_bytes) noexcept {
  uint64_t values = 0;
  if (rows < 0 || __builtin_mul_overflow(static_cast<uint64_t>(rows), row_bytes, &values) ||
      values > (uint64_t{1} << 46) || static_cast<uint64_t>(rows) > (uint64_t{1} << 46)) {
    return {};
  }
  return RoundUp(ArenaValuesOffset(rows) + values, kLargePage);
}

// Pages are locked for microseconds, or while one comes from the disk.
class Backoff {
 public:
  static constexpr int kSpins = 80;  // Wait calls before the first that sleeps, for 50 microseconds

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

// Acquire and release cost nothing on x86-64, and make the words' order that of the values. Only
// the arena's side is aligned.
template <class T>
void LoadPieces(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  const T* source = reinterpret_cast<const T*>(from);
  for (size_t i = 0; i < bytes / sizeof(T); i++) {
    const T piece = __atomic_load_n(source + i, __ATOMIC_ACQUIRE);
    std::memcpy(to + i * sizeof(T), &piece, sizeof(T));
  }
}

template <class T>
void StorePieces(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  T* target = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < bytes / sizeof(T); i++) {
    T piece;
    std::memcpy(&piece, from + i * sizeof(T), sizeof(T));
    __atomic_store_n(target + i, piece, __ATOMIC_RELEASE);
  }
}

// 64 bytes at once, as fast as memcpy. The language has no atomic pieces of that size; x86-64 keeps
// loads in order whatever their size, and a torn row is told by its page's word.
inline void LoadLines(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  for (size_t i = 0; i < bytes; i += 64) {
    __m128i a, b, c, d;
    const auto* line = reinterpret_cast<const __m128i*>(from + i);
    asm volatile("movdqu %4, %0\n\tmovdqu %5, %1\n\tmovdqu %6, %2\n\tmovdqu %7, %3"
                 : "=&x"(a), "=&x"(b), "=&x"(c), "=&x"(d)
                 : "m"(line[0]), "m"(line[1]), "m"(line[2]), "m"(line[3])
                 : "memory");
    auto* target = reinterpret_cast<__m128i*>(to + i);
    _mm_storeu_si128(target, a);
    _mm_storeu_si128(target + 1, b);
    _mm_storeu_si128(target + 2, c);
    _mm_storeu_si128(target + 3, d);
  }
}

#ifdef __SANITIZE_THREAD__
constexpr bool kLines = false;  // it can't see into them
#else
constexpr bool kLines = true;
#endif

inline void LoadRow(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  if (kLines && bytes % 64 == 0) {
    LoadLines(from, to, bytes);
  } else if (bytes % 8 == 0) {
    LoadPieces<uint64_t>(from, to, bytes);
  } else if (bytes % 4 == 0) {
    LoadPieces<uint32_t>(from, to, bytes);
  } else {
    LoadPieces<uint8_t>(from, to, bytes);
  }
}

inline void StoreRow(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  if (bytes % 8 == 0) {
    StorePieces<uint64_t>(from, to, bytes);
  } else if (bytes % 4 == 0) {
    StorePieces<uint32_t>(from, to, bytes);
  } else {
    StorePieces<uint8_t>(from, to, bytes);
  }
}

// Copies a row of the word's page, whole and unchanged meanwhile. False if the page is not in
// memory, or somebody keeps it locked for longer than `most_waits` of Backoff.
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

template <class Fetch>
void PrefetchLines(const void* data, size_t bytes, Fetch fetch) noexcept {
  // The hardware follows a long row by itself once its first kilobyte is on the way.
  const auto* begin = static_cast<const std::byte*>(data);
  const size_t most = bytes < 1024 ? bytes : 1024;
  for (size_t i = 0; i < most; i += 64) fetch(begin + i);
  if (bytes != 0) fetch(begin + bytes - 1);
}

inline void PrefetchBytes(const void* data, size_t bytes) noexcept {
  PrefetchLines(data, bytes, [](const std::byte* line) { __builtin_prefetch(line); });
}

// So that no other core, as that of a trainer which has read the row, has the line any more when it
// is written. __builtin_prefetch has this instruction only in builds for newer processors; older
// ones do nothing for it.
inline void PrefetchToWrite(const void* data, size_t bytes) noexcept {
  PrefetchLines(data, bytes,
                [](const std::byte* line) { asm volatile("prefetchw %0" ::"m"(*line)); });
}

}  // namespace graphd::store
