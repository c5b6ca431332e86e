// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "format/io/step_progress.h"

// Shows a long task's progress on standard error: a bar that is redrawn at most ten times a second
// on a terminal, one line per step elsewhere; the seconds where nobody knows how long a step takes.
// One thread at a time.

namespace graphd::ctl {

class ProgressLine {
 public:
  ProgressLine();
  // Leaves the terminal on a fresh line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const std::string& step, uint64_t done, uint64_t total);
  // Ends the bar before other output is written.
  void Finish();
  // For functions that report progress; this object must outlive it.
  StepProgress Callback();

 private:
  bool terminal_;
  bool open_ = false;  // a bar without newline stands on the terminal
  std::string step_;
  Clock::time_point drawn_{};
};

}  // namespace graphd::ctl
