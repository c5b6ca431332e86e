// SPDX-License-Identifier: Apache-2.0
#include "sampling/gather.h"

#include <cstring>

namespace graphd {
namespace {

constexpr size_t kRowsAhead = 8;
constexpr size_t kLine = 64;

inline void PrefetchRow(const std::byte* row, size_t row_bytes) noexcept {
  // The hardware follows a long row by itself once its first kilobyte is on the way.
  const size_t bytes = row_bytes < 1024 ? row_bytes : 1024;
  for (size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(row + at);
  __builtin_prefetch(row + bytes - 1);
}

// `kBytes` != 0 fixes the row's size, so that small rows become plain loads and stores.
template <size_t kBytes, bool kScattered>
void Gather(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
            std::span<const int64_t> to, std::byte* out) noexcept {
  const size_t size = kBytes ? kBytes : row_bytes;
  for (size_t i = 0; i < from.size(); i++) {
    if (i + kRowsAhead < from.size()) {
      PrefetchRow(table + static_cast<size_t>(from[i + kRowsAhead]) * size, size);
    }
    const size_t target = kScattered ? static_cast<size_t>(to[i]) : i;
    std::memcpy(out + target * size, table + static_cast<size_t>(from[i]) * size, size);
  }
}

template <bool kScattered>
void Dispatch(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
              std::span<const int64_t> to, std::byte* out) noexcept {
  switch (row_bytes) {
    case 0:
      return;
    case 1:
      return Gather<1, kScattered>(table, row_bytes, from, to, out);
    case 2:
      return Gather<2, kScattered>(table, row_bytes, from, to, out);
    case 4:
      return Gather<4, kScattered>(table, row_bytes, from, to, out);
    case 8:
      return Gather<8, kScattered>(table, row_bytes, from, to, out);
    default:
      return Gather<0, kScattered>(table, row_bytes, from, to, out);
  }
}

}  // namespace

void GatherRows(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
                std::span<const int64_t> to, std::byte* out) noexcept {
  if (to.empty()) return Dispatch<false>(table, row_bytes, from, to, out);
  Dispatch<true>(table, row_bytes, from, to, out);
}

void ScatterRows(const std::byte* source, size_t row_bytes, std::span<const int64_t> to,
                 std::byte* out) noexcept {
  for (size_t i = 0; i < to.size();) {
    // Consecutive targets are one copy.
    size_t run = 1;
    while (i + run < to.size() && to[i + run] == to[i] + static_cast<int64_t>(run)) run++;
    std::memcpy(out + static_cast<size_t>(to[i]) * row_bytes, source + i * row_bytes,
                run * row_bytes);
    i += run;
  }
}

}  // namespace graphd
