// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace graphd {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<LogSink*> g_sink{nullptr};

// The file that the environment variable JOURNAL_STREAM names as "<device>:<inode>". The inode is 0
// if the variable is not set or is invalid.
struct JournalStream {
  JournalStream() noexcept {
    const char* const value = std::getenv("JOURNAL_STREAM");
    if (value == nullptr || std::sscanf(value, "%llu:%llu", &device, &inode) != 2) inode = 0;
  }
  unsigned long long device = 0, inode = 0;
};

void WriteToStandardError(LogLevel level, const std::string& text) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  std::string line;
  if (IsJournalStream(STDERR_FILENO)) {
    line = JournalStreamLine(level, text);
  } else {
    timeval now{};
    gettimeofday(&now, nullptr);
    tm local{};
    localtime_r(&now.tv_sec, &local);
    char stamp[48];
    std::snprintf(stamp, sizeof stamp, "%02d:%02d:%02d.%03d ", local.tm_hour, local.tm_min,
                  local.tm_sec, static_cast<int>(now.tv_usec / 1000));
    line = stamp + std::string(kNames[static_cast<size_t>(level)]) + " " + text + "\n";
  }
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void SetLogLevel(LogLevel level) noexcept { g_level.store(level, std::memory_order_relaxed); }

void SetLogSink(LogSink* sink) noexcept { g_sink.store(sink, std::memory_order_release); }

std::string IndentedText(const std::string& text) {
  std::string shown;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '\n') {
      shown += "\n    ";
    } else if (byte == '\t' || (code >= ' ' && code != 0x7f)) {
      shown += byte;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", code);
      shown += escaped;
    }
  }
  return shown;
}

bool IsJournalStream(int fd) noexcept {
  static const JournalStream stream;
  if (stream.inode == 0) return false;
  // The descriptor may be another file by now, because --log_file replaces standard error.
  struct stat file {};
  return ::fstat(fd, &file) == 0 && file.st_dev == stream.device && file.st_ino == stream.inode;
}

std::string JournalStreamLine(LogLevel level, const std::string& text) {
  static constexpr const char* kSyslog[] = {"<7>", "<6>", "<4>", "<3>"};
  return kSyslog[static_cast<size_t>(level)] + text + "\n";
}

void LogLine(LogLevel level, const std::string& text, const LogFields& fields) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  if (LogSink* const sink = g_sink.load(std::memory_order_acquire)) {
    sink->Write(level, text, fields);
  } else {
    WriteToStandardError(level, text);
  }
}

}  // namespace graphd
