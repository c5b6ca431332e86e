// SPDX-License-Identifier: Apache-2.0
#include "format/io/number_column.h"

#include <strings.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace graphd {
namespace {

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

}  // namespace

bool IsNumberCell(std::string_view cell) noexcept {
  double value = 0;
  return cell.empty() || ParseNumber(cell, value) || ParseWord(cell).has_value();
}

bool NumberColumn::Append(std::string_view cell) {
  int64_t value = 0;
  if (ParseNumber(cell, value)) {
    AppendInt(value);
  } else if (const auto word = ParseWord(cell)) {
    AppendBool(*word != 0);
  } else {
    return AppendDecimal(cell);
  }
  return true;
}

bool NumberColumn::AppendDecimal(std::string_view cell) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (!cell.empty() && !ParseNumber(cell, value)) return false;
  summary_.AddDecimal(value, cell);
  PutFloat(value);
  return true;
}

void NumberColumn::AppendInt(int64_t value) {
  summary_.AddInt(value);
  PutInt(value);
}

void NumberColumn::AppendUnsigned(uint64_t value) {
  summary_.AddUnsigned(value);
  if (value <= INT64_MAX) return PutInt(static_cast<int64_t>(value));
  PutFloat(static_cast<double>(value));
}

void NumberColumn::AppendFloat(float value) {
  summary_.AddFloat();
  PutFloat(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

void NumberColumn::AppendDouble(double value) {
  if (std::isnan(value)) return AppendMissing();
  summary_.AddDouble(value);
  PutFloat(value);
}

void NumberColumn::AppendBool(bool value) {
  summary_.AddWord();
  PutInt(value ? 1 : 0);
}

void NumberColumn::PutInt(int64_t value) {
  if (summary_.floating) {
    floats_.Append(static_cast<double>(value));
  } else {
    ints_.Append(value);
  }
}

void NumberColumn::PutFloat(double value) {
  if (ints_.num_elements() > 0) MakeFloating();
  floats_.Append(value);
}

void NumberColumn::MakeFloating() {
  ints_.ForEach<int64_t>([&](int64_t value) { floats_.Append(static_cast<double>(value)); });
  ints_ = TensorBuilder(DType::kInt64, spill_);
}

Tensor NumberColumn::Finish(std::vector<int64_t> shape, bool mask) && {
  const auto narrow = [&]<class From>(const TensorBuilder& values, From, auto zero) {
    using To = decltype(zero);
    TensorBuilder builder(DTypeOf<To>(), spill_);
    values.ForEach<From>([&](From value) { builder.Append(static_cast<To>(value)); });
    return std::move(builder).Finish(std::move(shape));
  };
  switch (summary_.dtype(mask)) {
    case DType::kFloat64:
      return std::move(floats_).Finish(std::move(shape));
    case DType::kFloat32:
      return narrow(floats_, double{}, float{});
    case DType::kUInt8:
      return narrow(ints_, int64_t{}, uint8_t{});
    default:
      return std::move(ints_).Finish(std::move(shape));
  }
}

}  // namespace graphd
