// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace graphd {
namespace {
std::atomic<LogLevel> g_level{LogLevel::kInfo};
}

void SetLogLevel(LogLevel level) noexcept { g_level.store(level, std::memory_order_relaxed); }

void LogLine(LogLevel level, const std::string& text) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  static const bool to_journal = std::getenv("JOURNAL_STREAM") != nullptr;
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  static constexpr const char* kSyslog[] = {"<7>", "<6>", "<4>", "<3>"};
  const auto index = static_cast<size_t>(level);
  std::string line;
  if (to_journal) {
    line = kSyslog[index] + text + "\n";
  } else {
    timeval now{};
    gettimeofday(&now, nullptr);
    tm local{};
    localtime_r(&now.tv_sec, &local);
    char stamp[48];
    std::snprintf(stamp, sizeof stamp, "%02d:%02d:%02d.%03d ", local.tm_hour, local.tm_min,
                  local.tm_sec, static_cast<int>(now.tv_usec / 1000));
    line = stamp + std::string(kNames[index]) + " " + text + "\n";
  }
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace graphd
