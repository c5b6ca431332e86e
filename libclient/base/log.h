// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/strings.h"

// Log lines. They go to a LogSink if there is one, and otherwise to standard error, as "<time>
// <level> <text>" or, if standard error is a stream to journald, as "<6>text", where 6 is the
// syslog level. Each line is one write(2), so lines of several threads never mix. Thread-safe.

namespace graphd {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// The subject of a log line, in addition to its text. Members that do not apply are empty.
struct LogFields {
  std::string job = {};   // the id of a job
  std::string peer = {};  // a client, as its messages name it
  // A string literal that names the operation that the line is about, such as "attach". It is set
  // for lines that clients can cause, because the number of lines per operation is limited.
  const char* op = "";
};

// A receiver of log lines. Its methods are called by any thread, must not throw, and must not log.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogLevel level, const std::string& text, const LogFields& fields) noexcept = 0;
};

// Sets the lowest level that is logged; kInfo unless called.
void SetLogLevel(LogLevel level) noexcept;
// Sends lines to a sink from now on, or to standard error if `sink` is null. The sink must exist
// until the next call.
void SetLogSink(LogSink* sink) noexcept;

void LogLine(LogLevel level, const std::string& text, const LogFields& fields = {});

// Returns a text for one record of a log or a terminal: further lines are indented by four spaces,
// so that none looks like another record, and control characters other than tabs are escaped.
std::string IndentedText(const std::string& text);
// Returns whether a descriptor is the stream to journald that the service manager has opened.
bool IsJournalStream(int fd) noexcept;
// Returns a line in the form that journald expects in its stream: "<4>text\n".
std::string JournalStreamLine(LogLevel level, const std::string& text);

template <class... Args>
void LogDebug(const LogFields& fields, const Args&... args) {
  LogLine(LogLevel::kDebug, StrCat(args...), fields);
}
template <class... Args>
void LogInfo(const LogFields& fields, const Args&... args) {
  LogLine(LogLevel::kInfo, StrCat(args...), fields);
}
template <class... Args>
void LogInfo(const Args&... args) {
  LogLine(LogLevel::kInfo, StrCat(args...));
}
template <class... Args>
void LogWarning(const LogFields& fields, const Args&... args) {
  LogLine(LogLevel::kWarning, StrCat(args...), fields);
}
template <class... Args>
void LogWarning(const Args&... args) {
  LogLine(LogLevel::kWarning, StrCat(args...));
}
template <class... Args>
void LogError(const LogFields& fields, const Args&... args) {
  LogLine(LogLevel::kError, StrCat(args...), fields);
}
template <class... Args>
void LogError(const Args&... args) {
  LogLine(LogLevel::kError, StrCat(args...));
}

}  // namespace graphd
