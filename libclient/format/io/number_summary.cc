// SPDX-License-Identifier: Apache-2.0
#include "format/io/number_summary.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

namespace graphd {
namespace {

// Significant decimal digits that a float32 preserves when it is written and read.
constexpr int kFloat32Digits = 9;
constexpr int64_t kMoreDigits = 1'000'000'000;  // 10 to the power of kFloat32Digits

int SignificantDigits(std::string_view cell) noexcept {
  int digits = 0, zeros = 0;
  for (char c : cell) {
    if (c == 'e' || c == 'E') break;
    if (c < '0' || c > '9') continue;
    if (c == '0') {
      if (digits > 0) zeros++;
      continue;
    }
    digits += zeros + 1;
    zeros = 0;
  }
  return digits;
}

bool FitsFloat32(double value) noexcept {
  const double size = std::fabs(value);
  return !std::isfinite(value) || size == 0 ||
         (size <= std::numeric_limits<float>::max() && size >= std::numeric_limits<float>::min());
}

// Returns whether float32 holds exactly this value.
bool IsExactInFloat32(int64_t value) noexcept {
  constexpr float kBeyondInt64 = 0x1p63f;
  const auto rounded = static_cast<float>(value);
  return rounded < kBeyondInt64 && static_cast<int64_t>(rounded) == value;
}

// Returns whether float32 does not preserve the shortest decimal number that is read as `value`.
bool NeedsDouble(double value) noexcept {
  if (std::fabs(value) < static_cast<double>(kMoreDigits) && value == std::trunc(value)) {
    return false;
  }
  if (!FitsFloat32(value)) return true;
  if (std::isinf(value)) return false;
  std::array<char, 32> text;
  // The text is like "-1.25e-07", without zeros at the end, so all digits before the exponent are
  // significant.
  const char* end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific)
          .ptr;
  int digits = 0;
  for (const char* c = text.data(); c != end && *c != 'e'; c++) digits += *c >= '0' && *c <= '9';
  return digits > kFloat32Digits;
}

}  // namespace

void NumberSummary::AddInt(int64_t value) noexcept {
  any = true;
  all_words = false;
  all_bits = all_bits && (value == 0 || value == 1);
  if (value < kMoreDigits && value > -kMoreDigits) return;
  wide = wide || !IsExactInFloat32(value);
}

void NumberSummary::AddDouble(double value) noexcept {
  AddFloat();
  wide = wide || NeedsDouble(value);
}

void NumberSummary::AddUnsigned(uint64_t value) noexcept {
  if (value <= INT64_MAX) return AddInt(static_cast<int64_t>(value));
  AddFloat();
  // Zeros at the end are not significant.
  while (value % 10 == 0) value /= 10;
  wide = wide || value >= uint64_t{kMoreDigits};
}

void NumberSummary::AddDecimal(double value, std::string_view cell) noexcept {
  AddFloat();
  // Most cells are too short to need counting.
  wide = wide || !FitsFloat32(value) ||
         (cell.size() > size_t{kFloat32Digits} && SignificantDigits(cell) > kFloat32Digits);
}

void NumberSummary::Merge(const NumberSummary& part) noexcept {
  any = any || part.any;
  floating = floating || part.floating;
  wide = wide || part.wide;
  all_words = all_words && part.all_words;
  all_bits = all_bits && part.all_bits;
}

DType NumberSummary::dtype(bool mask) const noexcept {
  if (floating) return wide ? DType::kFloat64 : DType::kFloat32;
  return (any && all_words) || (mask && all_bits) ? DType::kUInt8 : DType::kInt64;
}

}  // namespace graphd
