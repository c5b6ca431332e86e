// SPDX-License-Identifier: Apache-2.0
#include "store/rows/row_order.h"

#include <algorithm>
#include <array>
#include <bit>

#include "store/rows/arena.h"

namespace graphd::store {
namespace {

// Does one stable pass of a radix sort: writes `from` to `to` in the order of `digit_of`, whose
// values are below kDigits. Sets `begins` to the position where each digit begins, and to the end.
template <size_t kDigits, class DigitOf>
void Pass(std::span<const uint32_t> from, std::span<uint32_t> to, DigitOf digit_of,
          std::array<uint32_t, kDigits + 1>& begins) {
  begins.fill(0);
  for (const uint32_t position : from) begins[digit_of(position) + 1]++;
  for (size_t d = 0; d < kDigits; d++) begins[d + 1] += begins[d];
  std::array<uint32_t, kDigits + 1> at = begins;
  for (const uint32_t position : from) to[at[digit_of(position)]++] = position;
}

constexpr size_t kBits = 11;
constexpr size_t kDigits = size_t{1} << kBits;

}  // namespace

void RowOrder::Sort(std::span<const int64_t> rows, int64_t num_rows) noexcept {
  for (uint32_t i = 0; i < rows.size(); i++) positions_[i] = i;
  const auto bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(num_rows - 1, 0)));
  for (size_t shift = 0; shift < static_cast<size_t>(bits); shift += kBits) {
    std::array<uint32_t, kDigits + 1> begins;
    const auto digit = [&](uint32_t position) {
      return static_cast<size_t>(rows[position] >> shift) % kDigits;
    };
    Pass<kDigits>(positions_, other_, digit, begins);
    positions_.swap(other_);
  }
  std::array<uint32_t, kLanes + 1> begins;
  const auto lane = [&](uint32_t position) {
    return static_cast<size_t>(rows[position] / kPageRows) % kLanes;
  };
  Pass<kLanes>(positions_, other_, lane, begins);
  positions_.swap(other_);
  std::copy(begins.begin(), begins.end(), begins_);
  other_ = {};
}

}  // namespace graphd::store
