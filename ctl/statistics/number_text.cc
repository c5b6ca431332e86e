// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/number_text.h"

#include <cstdio>
#include <type_traits>

#include "base/strings.h"

namespace graphd::ctl {

std::string ShortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string ShortNumber(const std::optional<Number>& number) {
  if (!number) return "-";
  return std::visit(
      [](auto value) {
        if constexpr (std::is_same_v<decltype(value), double>) return ShortNumber(value);
        return std::to_string(value);
      },
      *number);
}

std::string BalanceText(double balance) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", balance);
  return text;
}

std::string Thousands(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string DegreeRange(size_t bucket) {
  if (bucket < 2) return std::to_string(bucket);
  const uint64_t low = uint64_t{1} << (bucket - 1);
  return StrCat(low, "-", low + (low - 1));
}

std::string DTypeText(const FeatureStatistics& feature) {
  std::string text = DTypeName(feature.encoding.dtype);
  for (const int64_t extent : feature.row_shape) text += StrCat(" x ", extent);
  if (feature.encoding.is_plain()) return text;
  return StrCat(text, ", stored as ", DTypeName(feature.encoding.stored));
}

std::string ClassText(const FeatureClass& of_value) {
  if (!of_value.text) return std::to_string(of_value.value);
  return StrCat(of_value.value, " '", Printable(*of_value.text), "'");
}

}  // namespace graphd::ctl
