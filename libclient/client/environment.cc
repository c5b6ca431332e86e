// SPDX-License-Identifier: Apache-2.0
#include "client/environment.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/strings.h"

namespace graphd {

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int EnvironmentInt(const char* name, int otherwise, int min, int max) {
  const std::string text = EnvironmentText(name);
  return text.empty() ? otherwise : static_cast<int>(ParseInt(text, name, min, max));
}

uint64_t EnvironmentBytes(const char* name) {
  const std::string text = EnvironmentText(name);
  return text.empty() ? 0 : ParseBytes(text, name);
}

uint64_t ParseBytes(const std::string& text, const std::string& what) {
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  std::string unit(parsed.ptr, end);
  unit = Trim(unit);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  double bytes = number;
  constexpr std::string_view kUnits = "KMGT";
  if (const size_t power = unit.empty() ? std::string_view::npos : kUnits.find(unit[0]);
      power != std::string_view::npos) {
    bytes = std::ldexp(number, 10 * static_cast<int>(power + 1));
    unit.erase(0, 1);
    if (unit == "IB") unit.clear();
  }
  if (unit == "B") unit.clear();
  constexpr double kMost = 1ULL << 60;
  if (parsed.ec != std::errc() || !unit.empty() || !(bytes >= 0 && bytes <= kMost)) {
    Throw(ErrorCode::kInvalid, what, " '", text, "': give a number of bytes, such as 500M or 2GiB");
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace graphd
