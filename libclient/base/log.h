// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/strings.h"

// Log lines on standard error: "<time> <level> <text>", or with the syslog level prefix "<6>" that
// journald understands when standard error is its socket (JOURNAL_STREAM is set). Each line is one
// write(2), so lines of several threads never mix. Thread-safe.

namespace graphd {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sets the lowest level that is logged; kInfo unless called.
void SetLogLevel(LogLevel level) noexcept;
void LogLine(LogLevel level, const std::string& text);

template <class... Args>
void LogInfo(const Args&... args) {
  LogLine(LogLevel::kInfo, StrCat(args...));
}
template <class... Args>
void LogWarning(const Args&... args) {
  LogLine(LogLevel::kWarning, StrCat(args...));
}
template <class... Args>
void LogError(const Args&... args) {
  LogLine(LogLevel::kError, StrCat(args...));
}

}  // namespace graphd
