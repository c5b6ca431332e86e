// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>

// Rows of some hundred bytes at random places in memory: what makes reading and writing them as
// fast as the memory is.

namespace graphd {

inline constexpr size_t kLeastRowCopy = 32;

// How many rows before its turn a row is prefetched: a core has some two dozen lines under way.
constexpr size_t RowsAhead(size_t row_bytes) noexcept {
  constexpr size_t kBytesAhead = 2048, kLeast = 2, kMost = 32;
  return row_bytes == 0 ? kMost : std::clamp(kBytesAhead / row_bytes, kLeast, kMost);
}

// Copies a row of kLeastRowCopy bytes or more in the widest pieces that the processor has: a core
// keeps a few dozen stores that wait for their lines, and wider ones are more bytes. The row may be
// changed meanwhile if what stands around the call tells so afterwards (a sequence lock): it is
// read behind what comes before the call, and before what comes after.
void CopyRow(const std::byte* from, std::byte* to, size_t bytes) noexcept;

inline constexpr size_t kLine = 64;

// Calls f with the lines that a row takes, as a constant, if rows begin with a line and are some
// usual whole number of them; otherwise with 0.
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

// Calls fetch(line) for each line of a row, of a long one for those of its first kilobyte: the
// hardware follows by itself then. `kLines`: WithLines; a loop over prefetches, or one too many,
// costs a third more.
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

// So that no other core, as that of a trainer which has read the row, has the line any more when it
// is written. __builtin_prefetch has this instruction only in builds for newer processors; older
// ones do nothing for it.
template <size_t kLines = 0>
inline void PrefetchBytesToWrite(const std::byte* row, size_t bytes) noexcept {
  PrefetchLines<kLines>(row, bytes,
                        [](const std::byte* line) { asm volatile("prefetchw %0" ::"m"(*line)); });
}

}  // namespace graphd
