// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>

// Fast reading and writing of rows of a few hundred bytes at random places in memory.

namespace graphd {

inline constexpr size_t kLeastRowCopy = 32;

// Returns how many rows ahead a row is prefetched: a core can have about two dozen cache lines in
// flight.
constexpr size_t RowsAhead(size_t row_bytes) noexcept {
  constexpr size_t kBytesAhead = 2048, kLeast = 2, kMost = 32;
  return row_bytes == 0 ? kMost : std::clamp(kBytesAhead / row_bytes, kLeast, kMost);
}

// Copies a row of at least kLeastRowCopy bytes in the widest pieces that the processor supports: a
// core buffers a few dozen stores that wait for their cache lines, and wider stores carry more
// bytes. Another thread may change the row meanwhile if the caller detects that afterwards
// (sequence lock): the compiler moves no memory access across the call.
void CopyRow(const std::byte* from, std::byte* to, size_t bytes) noexcept;

inline constexpr size_t kLine = 64;

// Calls f with the number of cache lines in a row as a compile-time constant, if rows are aligned
// to cache lines and their number is one of the usual ones; otherwise with 0.
template <class F>
void WithLines(size_t row_bytes, const F& f) {
  switch (row_bytes) {
    case 1 * kLine:
      return f(std::integral_constant<size_t, 1>());
    case 2 * kLine:
      return f(std::integral_constant<size_t, 2>());
    case 4 * kLine:
      return f(std::integral_constant<size_t, 4>());
    case 8 * kLine:
      return f(std::integral_constant<size_t, 8>());
    case 16 * kLine:
      return f(std::integral_constant<size_t, 16>());
    default:
      return f(std::integral_constant<size_t, 0>());
  }
}

// Calls fetch(line) for each cache line of a row; for a long row only for those in its first
// kilobyte, because the hardware prefetcher continues from there. `kLines` is the constant of
// WithLines: a loop over prefetches, or one prefetch too many, costs a third more.
template <size_t kLines, class Fetch>
inline void PrefetchLines(const std::byte* row, size_t bytes, Fetch fetch) noexcept {
  if constexpr (kLines != 0) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kLines; i++) fetch(row + i * kLine);
  } else {
    const size_t most = bytes < 1024 ? bytes : 1024;
    for (size_t i = 0; i < most; i += kLine) fetch(row + i);
    if (bytes % kLine != 0) fetch(row + bytes - 1);
  }
}

template <size_t kLines = 0>
inline void PrefetchBytes(const std::byte* row, size_t bytes) noexcept {
  PrefetchLines<kLines>(row, bytes, [](const std::byte* line) { __builtin_prefetch(line); });
}

// Prefetches the row in exclusive state, so that the write need not wait until other cores, such as
// that of a trainer which has read the row, drop the line. __builtin_prefetch emits this
// instruction only in builds for newer processors; older processors ignore it.
template <size_t kLines = 0>
inline void PrefetchBytesToWrite(const std::byte* row, size_t bytes) noexcept {
  PrefetchLines<kLines>(row, bytes,
                        [](const std::byte* line) { asm volatile("prefetchw %0" ::"m"(*line)); });
}

}  // namespace graphd
