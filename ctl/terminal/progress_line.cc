// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/strings.h"

namespace graphd::ctl {
namespace {
constexpr int kBarWidth = 30;
// Seconds between messages about a step of unknown length if standard error is not a terminal.
constexpr uint64_t kQuietSeconds = 60;
// The seconds of a step after which its speed is known well enough to be used.
constexpr double kSpeedSeconds = 2;
}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { Finish(); }

void ProgressLine::Finish() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
  step_.clear();
}

StepProgress ProgressLine::Callback() {
  return
      [this](const std::string& step, uint64_t done, uint64_t total) { Show(step, done, total); };
}

std::string ProgressLine::TimeLeft(double share) const {
  const double elapsed = SecondsSince(begun_);
  if (elapsed < kSpeedSeconds || share <= 0) return "";
  const double left = elapsed * (1 - share) / share;
  if (left < 120) return StrCat(std::llround(left), " s left");
  return StrCat(std::llround(left / 60), " min left");
}

void ProgressLine::Show(const std::string& step, uint64_t done, uint64_t total,
                        const std::string& detail) {
  const bool fresh = step != step_;
  const auto seconds = static_cast<unsigned long long>(done);
  const double share =
      total ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  if (fresh) begun_ = Clock::now();
  if (!terminal_) {
    if (fresh) {
      std::fprintf(stderr, "%s\n", step.c_str());
      drawn_ = begun_;
    } else if (total > 0 && done < total && SecondsSince(drawn_) >= kQuietSeconds) {
      std::fprintf(stderr, "%s: %d %%, %s\n", step.c_str(), static_cast<int>(share * 100),
                   TimeLeft(share).c_str());
      drawn_ = Clock::now();
    }
    if (!fresh && total == 0 && done > 0 && done % kQuietSeconds == 0) {
      std::fprintf(stderr, "%s: %llu s\n", step.c_str(), seconds);
    }
    step_ = step;
    return;
  }
  if (!fresh && done < total && SecondsSince(drawn_) < 0.1) return;
  if (fresh && open_) std::fputc('\n', stderr);
  step_ = step;
  drawn_ = Clock::now();
  if (total == 0) {
    std::fprintf(stderr, "\r%*llu s  %s\x1b[K", kBarWidth + 5, seconds, step.c_str());
    std::fflush(stderr);
    open_ = true;
    return;
  }
  const std::string& more = detail.empty() && done < total ? TimeLeft(share) : detail;
  const int filled = static_cast<int>(share * kBarWidth);
  std::fprintf(stderr, "\r[%s%s] %3d %%  %s%s%s\x1b[K",
               std::string(static_cast<size_t>(filled), '#').c_str(),
               std::string(static_cast<size_t>(kBarWidth - filled), '.').c_str(),
               static_cast<int>(share * 100), step.c_str(), more.empty() ? "" : ": ", more.c_str());
  std::fflush(stderr);
  open_ = true;
}

}  // namespace graphd::ctl
