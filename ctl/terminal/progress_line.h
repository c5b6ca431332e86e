// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "format/io/step_progress.h"

// Shows a long task's progress on standard error: on a terminal, a bar that is redrawn at most ten
// times a second; elsewhere, one line per step and another for each minute that it takes. Beside it
// stands the time that the step still needs at its speed so far or, if the length of the step is
// unknown, the elapsed seconds. One thread at a time.

namespace graphd::ctl {

class ProgressLine {
 public:
  ProgressLine();
  // Leaves the cursor at the beginning of a new line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `detail` is shown after the step on a terminal, in place of the time left.
  void Show(const std::string& step, uint64_t done, uint64_t total, const std::string& detail = {});
  // Ends the bar. Must be called before other output is written.
  void Finish();
  // Returns a callback for functions that report progress; this object must outlive it.
  StepProgress Callback();

 private:
  // Returns "45 s left", or "" while the speed of the step is not known.
  std::string TimeLeft(double share) const;
  bool terminal_;
  bool open_ = false;  // the terminal's last line is a bar without a newline
  std::string step_;
  Clock::time_point begun_{}, drawn_{};  // begin of the step, time of the last output
};

}  // namespace graphd::ctl
