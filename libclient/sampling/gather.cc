// SPDX-License-Identifier: Apache-2.0
#include "sampling/gather.h"

#include <cstring>

#include "base/processor.h"
#include "base/row_access.h"
#include "graph/decode.h"

namespace graphd {
namespace {

// Copies rows. If kBytes is not 0, it is the size of a row as a compile-time constant, so that the
// compiler copies a small row by plain loads and stores.
template <size_t kBytes, bool kScattered>
void GatherSmall(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
                 std::span<const int64_t> to, std::byte* out) noexcept {
  const size_t size = kBytes != 0 ? kBytes : row_bytes;
  const size_t ahead = RowsAhead(size);
  for (size_t i = 0; i < from.size(); i++) {
    if (i + ahead < from.size()) {
      PrefetchBytes(table + static_cast<size_t>(from[i + ahead]) * size, size);
    }
    const size_t target = kScattered ? static_cast<size_t>(to[i]) : i;
    std::memcpy(out + target * size, table + static_cast<size_t>(from[i]) * size, size);
  }
}

template <size_t kLines, bool kScattered>
void GatherLarge(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
                 std::span<const int64_t> to, std::byte* out) noexcept {
  const size_t size = kLines != 0 ? kLines * kLine : row_bytes;
  const size_t ahead = RowsAhead(size);
  for (size_t i = 0; i < from.size(); i++) {
    if (i + ahead < from.size()) {
      PrefetchBytes<kLines>(table + static_cast<size_t>(from[i + ahead]) * size, size);
    }
    const size_t target = kScattered ? static_cast<size_t>(to[i]) : i;
    CopyRow(table + static_cast<size_t>(from[i]) * size, out + target * size, size);
  }
}

template <bool kScattered>
void Dispatch(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
              std::span<const int64_t> to, std::byte* out) noexcept {
  switch (row_bytes) {
    case 0:
      return;
    case 1:
      return GatherSmall<1, kScattered>(table, row_bytes, from, to, out);
    case 2:
      return GatherSmall<2, kScattered>(table, row_bytes, from, to, out);
    case 4:
      return GatherSmall<4, kScattered>(table, row_bytes, from, to, out);
    case 8:
      return GatherSmall<8, kScattered>(table, row_bytes, from, to, out);
    default:
      if (row_bytes < kLeastRowCopy) {
        return GatherSmall<0, kScattered>(table, row_bytes, from, to, out);
      }
      WithLines(row_bytes, [&](auto lines) {
        GatherLarge<lines, kScattered>(table, row_bytes, from, to, out);
      });
  }
}

// Gathers rows and converts their elements. If kElements is 1, each row has one element, as the
// rows of original ids and of labels do. If it is 0, `row_elements` is used.
template <size_t kElements, class From, class Convert, class To>
inline void GatherAndConvert(const Convert& convert, const From* table, size_t row_elements,
                             std::span<const int64_t> from, std::span<const int64_t> to,
                             To* out) noexcept {
  const size_t size = kElements != 0 ? kElements : row_elements;
  const size_t ahead = RowsAhead(size * sizeof(From));
  for (size_t i = 0; i < from.size(); i++) {
    if (i + ahead < from.size()) {
      PrefetchBytes(
          reinterpret_cast<const std::byte*>(table + static_cast<size_t>(from[i + ahead]) * size),
          size * sizeof(From));
    }
    const From* source = table + static_cast<size_t>(from[i]) * size;
    To* target = out + (to.empty() ? i : static_cast<size_t>(to[i])) * size;
    for (size_t e = 0; e < size; e++) target[e] = convert(source[e]);
  }
}

// Does the same as GatherAndConvert<0> with AVX2 instructions, which not every processor has.
template <class From, class Convert, class To>
__attribute__((target("avx2"))) void GatherAndConvertBy256(const Convert& convert,
                                                           const From* table, size_t row_elements,
                                                           std::span<const int64_t> from,
                                                           std::span<const int64_t> to,
                                                           To* out) noexcept {
  GatherAndConvert<0>(convert, table, row_elements, from, to, out);
}

// Converts rows that lie side by side in `source`, and writes row i to row to[i] of `out`.
// kElements is used as in GatherAndConvert.
template <size_t kElements, class From, class Convert, class To>
inline void ConvertAndScatter(const Convert& convert, const From* source, size_t row_elements,
                              std::span<const int64_t> to, To* out) noexcept {
  const size_t size = kElements != 0 ? kElements : row_elements;
  for (const int64_t row : to) {
    To* target = out + static_cast<size_t>(row) * size;
    for (size_t e = 0; e < size; e++) target[e] = convert(source[e]);
    source += size;
  }
}

template <class From, class Convert, class To>
__attribute__((target("avx2"))) void ConvertAndScatterBy256(const Convert& convert,
                                                            const From* source, size_t row_elements,
                                                            std::span<const int64_t> to,
                                                            To* out) noexcept {
  ConvertAndScatter<0>(convert, source, row_elements, to, out);
}

}  // namespace

void GatherRows(const std::byte* table, size_t row_bytes, std::span<const int64_t> from,
                std::span<const int64_t> to, std::byte* out) noexcept {
  if (to.empty()) return Dispatch<false>(table, row_bytes, from, to, out);
  Dispatch<true>(table, row_bytes, from, to, out);
}

void GatherRows(const FeatureTable& table, std::span<const int64_t> from,
                std::span<const int64_t> to, std::byte* out) noexcept {
  const std::byte* stored = table.stored().data();
  const size_t row_elements = table.row_elements();
  if (table.encoding().is_plain()) return GatherRows(stored, table.row_bytes(), from, to, out);
  if (row_elements == 0) return;
  VisitDecoder(table.encoding(), [&](auto narrow, auto convert, auto read) {
    const auto* source = reinterpret_cast<const decltype(narrow)*>(stored);
    auto* target = reinterpret_cast<decltype(read)*>(out);
    if (row_elements == 1) return GatherAndConvert<1>(convert, source, 1, from, to, target);
    if (kVectorBits >= 256)
      return GatherAndConvertBy256(convert, source, row_elements, from, to, target);
    GatherAndConvert<0>(convert, source, row_elements, from, to, target);
  });
}

void ScatterRows(const std::byte* source, size_t row_bytes, std::span<const int64_t> to,
                 std::byte* out) noexcept {
  for (size_t i = 0; i < to.size();) {
    // Rows with consecutive targets are copied by one call.
    size_t run = 1;
    while (i + run < to.size() && to[i + run] == to[i] + static_cast<int64_t>(run)) run++;
    std::memcpy(out + static_cast<size_t>(to[i]) * row_bytes, source + i * row_bytes,
                run * row_bytes);
    i += run;
  }
}

void ScatterRows(const Encoding& encoding, const std::byte* source, size_t row_bytes,
                 std::span<const int64_t> to, std::byte* out) noexcept {
  if (encoding.is_plain()) return ScatterRows(source, row_bytes, to, out);
  const size_t row_elements = row_bytes / DTypeSize(encoding.dtype);
  VisitDecoder(encoding, [&](auto narrow, auto convert, auto read) {
    const auto* from = reinterpret_cast<const decltype(narrow)*>(source);
    auto* target = reinterpret_cast<decltype(read)*>(out);
    if (row_elements == 1) return ConvertAndScatter<1>(convert, from, 1, to, target);
    if (kVectorBits >= 256) return ConvertAndScatterBy256(convert, from, row_elements, to, target);
    ConvertAndScatter<0>(convert, from, row_elements, to, target);
  });
}

}  // namespace graphd
