// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/log.h"
#include "base/threads/mutex.h"
#include "daemon/logging/line_limits.h"

namespace graphd {

// The daemon's log. If `fd` is the stream of the journal, lines go to the journal, with their
// fields; otherwise they go to `fd` as text (LogText). LineLimits decides which lines are written.
// Thread-safe; guarded by one mutex, which is not held while a line is written.
class DaemonLog final : public LogSink {
 public:
  explicit DaemonLog(std::string server_name, int fd = STDERR_FILENO);
  // Logs how many lines were left out since the last call of TellLeftOut.
  ~DaemonLog() override;
  DaemonLog(const DaemonLog&) = delete;
  DaemonLog& operator=(const DaemonLog&) = delete;

  // Writes a line. A text that is longer than kMaxText bytes is truncated.
  void Write(LogLevel level, const std::string& text, const LogFields& fields) noexcept override;

  // Makes later lines go to the journal's stream without their fields, which is needed for the last
  // lines of a process: journald looks up the unit of a line's sender when it reads the line, and
  // the process may have ended by then. It knows the unit of a stream in advance.
  void WriteToStream() noexcept { to_stream_ = true; }

  // Writes, for each operation, how many of its lines were left out since the last call. Call it
  // every kTellSeconds.
  void TellLeftOut() noexcept;
  static constexpr int kTellSeconds = 10;
  static constexpr size_t kMaxText = size_t{16} << 10;

 private:
  void Put(LogLevel level, const std::string& text, const LogFields& fields) const;

  const std::string server_name_;
  const int fd_;
  std::atomic<bool> to_stream_{false};
  Mutex mutex_;
  LineLimits limits_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
