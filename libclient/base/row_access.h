// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Fast reading and writing of rows of a few hundred bytes at random places in memory.

namespace graphd {

inline constexpr size_t kLeastRowCopy = 32;

// Returns by how many rows loops prefetch ahead of the current row. It is limited, because a core
// can wait for only about two dozen cache lines at the same time.
constexpr size_t RowsAhead(size_t row_bytes) noexcept {
  constexpr size_t kBytesAhead = 2048, kLeast = 2, kMost = 32;
  return row_bytes == 0 ? kMost : std::clamp(kBytesAhead / row_bytes, kLeast, kMost);
}

// Copies a row of at least kLeastRowCopy bytes in the widest pieces that the processor supports. A
// core can buffer a few dozen stores that wait for their cache lines, and wider stores have more
// bytes. Another thread may change the row meanwhile if the caller detects that afterwards by a
// sequence lock. This works because the compiler moves no memory access across the call.
void CopyRow(const std::byte* from, std::byte* to, size_t bytes) noexcept;

// Whether CopyRow may copy rows that other threads change. In builds with ThreadSanitizer, which
// can't know that a sequence lock detects torn rows, such rows are copied in pieces that the
// language guarantees to be atomic.
#ifdef __SANITIZE_THREAD__
constexpr bool kWholeRows = false;
#else
constexpr bool kWholeRows = true;
#endif

// The memory order of atomic accesses to pieces of rows. Acquire and release cost nothing on
// x86-64, and keep the accesses to rows in order with those to the sequence lock of their page.
// Builds with ThreadSanitizer, which does not reorder accesses, use relaxed accesses. For acquire
// and release, it would keep a vector clock for each piece, which takes gigabytes.
constexpr int kPieceLoad = kWholeRows ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
constexpr int kPieceStore = kWholeRows ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

// LoadPieces and StorePieces copy a row in pieces of T. LoadPieces reads each piece atomically, and
// only `from` must be aligned. StorePieces writes each piece atomically, and only `to` must be
// aligned.
template <class T>
void LoadPieces(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  const T* source = reinterpret_cast<const T*>(from);
  for (size_t i = 0; i < bytes / sizeof(T); i++) {
    const T piece = __atomic_load_n(source + i, kPieceLoad);
    std::memcpy(to + i * sizeof(T), &piece, sizeof(T));
  }
}

template <class T>
void StorePieces(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  T* target = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < bytes / sizeof(T); i++) {
    T piece;
    std::memcpy(&piece, from + i * sizeof(T), sizeof(T));
    __atomic_store_n(target + i, piece, kPieceStore);
  }
}

// Copies a row out of memory that another thread or process may change meanwhile. The caller
// detects such a change by a sequence lock. `from` is aligned to 8 bytes, or to 4 or 1 if `bytes`
// is only a multiple of that.
inline void LoadRow(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  if (kWholeRows && bytes >= kLeastRowCopy) {
    CopyRow(from, to, bytes);
  } else if (bytes % 8 == 0) {
    LoadPieces<uint64_t>(from, to, bytes);
  } else if (bytes % 4 == 0) {
    LoadPieces<uint32_t>(from, to, bytes);
  } else {
    LoadPieces<uint8_t>(from, to, bytes);
  }
}

// Copies a row into memory that another thread or process may read meanwhile. `to` is aligned as
// `from` of LoadRow is.
inline void StoreRow(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  if (kWholeRows && bytes >= kLeastRowCopy) {
    CopyRow(from, to, bytes);
  } else if (bytes % 8 == 0) {
    StorePieces<uint64_t>(from, to, bytes);
  } else if (bytes % 4 == 0) {
    StorePieces<uint32_t>(from, to, bytes);
  } else {
    StorePieces<uint8_t>(from, to, bytes);
  }
}

inline constexpr size_t kLine = 64;

// Calls f with the number of cache lines in a row as a compile-time constant, if the row is 1, 2,
// 4, 8 or 16 whole cache lines, and otherwise with 0. Rows of these sizes should be aligned to
// cache lines.
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

// Calls fetch(line) for each cache line of a row. For a row longer than a kilobyte, calls it only
// for the lines in the first kilobyte and perhaps the last line, because the hardware prefetcher
// continues from there. `kLines` is the constant of WithLines. If it is known, there is neither a
// loop over prefetches nor a prefetch too many, each of which costs a third more.
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

// Prefetches the row in exclusive state, so that a write does not wait until other cores drop the
// cache lines, such as the core of a trainer that has read the row. __builtin_prefetch would emit
// this instruction only in builds for newer processors. Older processors ignore the instruction.
template <size_t kLines = 0>
inline void PrefetchBytesToWrite(const std::byte* row, size_t bytes) noexcept {
  PrefetchLines<kLines>(row, bytes,
                        [](const std::byte* line) { asm volatile("prefetchw %0" ::"m"(*line)); });
}

}  // namespace graphd
