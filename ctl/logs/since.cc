// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/since.h"

#include <time.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

// Returns the seconds that a text such as "15min" means.
std::optional<double> Duration(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(number >= 0) || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit = end;
  if (unit == "s") return number;
  if (unit == "min") return number * 60;
  if (unit == "h") return number * 3600;
  if (unit == "d") return number * 86400;
  return std::nullopt;
}

// Returns the time in a text that has the form `form` of strptime, or nothing. `date`: the
// beginning of today, from which the fields are taken that the form lacks.
std::optional<double> Read(const std::string& text, const char* form, tm date) {
  const char* const end = ::strptime(text.c_str(), form, &date);
  if (end == nullptr || *end != '\0') return std::nullopt;
  date.tm_isdst = -1;
  return static_cast<double>(::mktime(&date));
}

}  // namespace

double ParseSince(const std::string& text, double now) {
  if (const auto ago = Duration(text)) return std::max(0.0, now - *ago);
  const auto seconds = static_cast<time_t>(now);
  tm today{};
  ::localtime_r(&seconds, &today);
  today.tm_hour = today.tm_min = today.tm_sec = 0;
  for (const char* form : {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                           "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%H:%M:%S", "%H:%M"}) {
    if (const auto time = Read(text, form, today)) return *time;
  }
  Throw(ErrorCode::kInvalid, "--since ", text, ": give a time such as 13:05, 2026-11-26 or ",
        "'2026-11-26 13:05:30', or how long ago: 30s, 15min, 2h, 1d");
}

}  // namespace graphd::ctl
