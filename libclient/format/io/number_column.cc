// SPDX-License-Identifier: Apache-2.0
#include "format/io/number_column.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace graphd {
namespace {

// Significant decimal digits that a float32 preserves when it is written and read.
constexpr int kFloat32Digits = 9;

bool SameWord(std::string_view cell, std::string_view word) noexcept {
  return cell.size() == word.size() && ::strncasecmp(cell.data(), word.data(), word.size()) == 0;
}

std::optional<int64_t> ParseWord(std::string_view cell) noexcept {
  if (cell.empty() || (cell[0] | 0x20) < 'f') return std::nullopt;
  if (SameWord(cell, "true")) return 1;
  if (SameWord(cell, "false")) return 0;
  return std::nullopt;
}

template <class T>
bool ParseNumber(std::string_view cell, T& value) noexcept {
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size() && !cell.empty();
}

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

// Returns the number of digits without the zeros at the end.
int DigitsOf(int64_t value) noexcept {
  auto rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  while (rest != 0 && rest % 10 == 0) rest /= 10;
  int digits = 0;
  for (; rest != 0; rest /= 10) digits++;
  return digits;
}

// Returns whether the shortest decimal number that is read as `value` has too many digits for
// float32, or is outside its range.
bool NeedsDouble(double value) noexcept {
  constexpr double kLimit = 1e9;
  if (std::fabs(value) < kLimit && value == std::trunc(value)) return false;
  if (!FitsFloat32(value)) return true;
  if (std::isinf(value)) return false;
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return SignificantDigits({text.data(), static_cast<size_t>(end - text.data())}) > kFloat32Digits;
}

}  // namespace

bool IsNumberCell(std::string_view cell) noexcept {
  double value = 0;
  return cell.empty() || ParseNumber(cell, value) || ParseWord(cell).has_value();
}

bool NumberColumn::Append(std::string_view cell) {
  int64_t value = 0;
  if (ParseNumber(cell, value)) {
    PutInt(value, false, floating_ && SignificantDigits(cell) > kFloat32Digits);
  } else if (const auto word = ParseWord(cell)) {
    PutInt(*word, true, false);
  } else {
    return AppendDecimal(cell);
  }
  return true;
}

bool NumberColumn::AppendDecimal(std::string_view cell) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (!cell.empty() && !ParseNumber(cell, value)) return false;
  PutFloat(value, !wide_ && (SignificantDigits(cell) > kFloat32Digits || !FitsFloat32(value)));
  return true;
}

void NumberColumn::AppendInt(int64_t value) {
  PutInt(value, false, floating_ && !wide_ && DigitsOf(value) > kFloat32Digits);
}

void NumberColumn::AppendUnsigned(uint64_t value) {
  if (value <= INT64_MAX) return AppendInt(static_cast<int64_t>(value));
  Append(std::to_string(value));
}

void NumberColumn::AppendFloat(float value) {
  // Subnormal numbers are written exactly by float32, too, so the column stays one of it.
  PutFloat(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value, false);
}

void NumberColumn::AppendDouble(double value) {
  if (std::isnan(value)) return AppendMissing();
  PutFloat(value, !wide_ && NeedsDouble(value));
}

void NumberColumn::AppendBool(bool value) { PutInt(value ? 1 : 0, true, false); }

void NumberColumn::PutInt(int64_t value, bool word, bool wide) {
  all_words_ = all_words_ && word;
  all_bits_ = all_bits_ && (value == 0 || value == 1);
  if (floating_) {
    wide_ = wide_ || wide;
    floats_.Append(static_cast<double>(value));
  } else {
    ints_.Append(value);
  }
}

void NumberColumn::PutFloat(double value, bool wide) {
  all_words_ = all_bits_ = false;
  if (!floating_) MakeFloating();
  wide_ = wide_ || wide;
  floats_.Append(value);
}

void NumberColumn::MakeFloating() {
  constexpr int64_t kLimit = 1'000'000'000;  // 10 to the power of kFloat32Digits
  ints_.ForEach<int64_t>([&](int64_t value) {
    wide_ = wide_ || value >= kLimit || value <= -kLimit;
    floats_.Append(static_cast<double>(value));
  });
  ints_ = TensorBuilder(DType::kInt64, spill_);
  floating_ = true;
}

Tensor NumberColumn::Finish(std::vector<int64_t> shape, bool mask) && {
  if (floating_ && wide_) return std::move(floats_).Finish(std::move(shape));
  const auto narrow = [&]<class From>(const TensorBuilder& values, From, auto zero) {
    using To = decltype(zero);
    TensorBuilder builder(DTypeOf<To>(), spill_);
    values.ForEach<From>([&](From value) { builder.Append(static_cast<To>(value)); });
    return std::move(builder).Finish(std::move(shape));
  };
  if (floating_) return narrow(floats_, double{}, float{});
  const bool any = ints_.num_elements() > 0;
  if ((any && all_words_) || (mask && all_bits_)) return narrow(ints_, int64_t{}, uint8_t{});
  return std::move(ints_).Finish(std::move(shape));
}

}  // namespace graphd
