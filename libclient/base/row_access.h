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

// ThreadSanitizer can't know that a sequence lock detects torn rows: for it, rows are copied in
// pieces that the language guarantees to be atomic.
#ifdef __SANITIZE_THREAD__
constexpr bool kWholeRows = false;
#else
constexpr bool kWholeRows = true;
#endif

// Acquire and release cost nothing on x86-64, and keep the accesses to values in order with those
// to the pages' words (sequence lock). ThreadSanitizer does not reorder accesses, so they are
// relaxed there: otherwise it would keep a vector clock for each piece, which takes gigabytes.
constexpr int kPieceLoad = kWholeRows ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
constexpr int kPieceStore = kWholeRows ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

// Copies atomically in pieces of T. Only the shared side is aligned.
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

// Copies a row out of memory that another thread or process may change meanwhile, under a sequence
// lock; the row is aligned to its pieces.
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

// Does the reverse.
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
