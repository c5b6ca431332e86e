// SPDX-License-Identifier: Apache-2.0
#include "daemon/logging/log_text.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace graphd {
namespace {

std::string Stamp(int64_t microseconds) {
  const time_t seconds = microseconds / 1'000'000;
  tm local{};
  ::localtime_r(&seconds, &local);
  char date[32];
  const size_t length = ::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
  const long offset = std::labs(local.tm_gmtoff) / 60;  // minutes
  char rest[48];
  std::snprintf(rest, sizeof rest, ".%03d%c%02ld:%02ld",
                static_cast<int>(microseconds / 1000 % 1000), local.tm_gmtoff < 0 ? '-' : '+',
                offset / 60, offset % 60);
  return std::string(date, length) + rest;
}

}  // namespace

std::string LogText(LogLevel level, const std::string& text, int64_t microseconds) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  std::string line = Stamp(microseconds) + " " + kNames[static_cast<size_t>(level)] + " ";
  return line + IndentedText(text) + "\n";
}

}  // namespace graphd
