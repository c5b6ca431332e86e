// SPDX-License-Identifier: Apache-2.0
#include "daemon/logging/daemon_log.h"

#include <exception>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/logging/journal.h"
#include "daemon/logging/log_text.h"

namespace graphd {

DaemonLog::DaemonLog(std::string server_name, int fd)
    : server_name_(std::move(server_name)), fd_(fd) {}

DaemonLog::~DaemonLog() { TellLeftOut(); }

void DaemonLog::Write(LogLevel level, const std::string& text, const LogFields& fields) noexcept {
  try {
    {
      const MutexLock lock(mutex_);
      if (!limits_.Admit(fields.op, Clock::now())) return;
    }
    if (text.size() <= kMaxText) return Put(level, text, fields);
    std::string cut = text;
    Truncate(cut, kMaxText);
    Put(level, cut, fields);
  } catch (const std::exception&) {
    // If there is no memory for a line of the log, the line is left out.
  }
}

void DaemonLog::TellLeftOut() noexcept {
  try {
    std::vector<LineLimits::LeftOut> all;
    {
      const MutexLock lock(mutex_);
      all = limits_.TakeLeftOut();
    }
    for (const LineLimits::LeftOut& each : all) {
      LogFields fields;
      fields.op = each.op.c_str();
      const std::string what =
          each.op.empty() ? "about this server" : StrCat("about '", each.op, "'");
      Put(LogLevel::kWarning,
          StrCat(each.lines, each.lines == 1 ? " line " : " lines ", what,
                 each.lines == 1 ? " was" : " were",
                 " left out of this log, because too many came at once"),
          fields);
    }
  } catch (const std::exception&) {
    // A line for which there is no memory is left out, as in Write.
  }
}

void DaemonLog::Put(LogLevel level, const std::string& text, const LogFields& fields) const {
  std::string line;
  if (IsJournalStream(fd_)) {
    if (!to_stream_ && SendToJournal(server_name_, level, text, fields)) return;
    line = JournalStreamLine(level, text);
  } else {
    line = LogText(level, text, MicrosecondsNow());
  }
  [[maybe_unused]] const ssize_t written = ::write(fd_, line.data(), line.size());
}

}  // namespace graphd
