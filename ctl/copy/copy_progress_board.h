// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/threads/mutex.h"
#include "ctl/copy/host_copy.h"

// Shows the progress of a copy on standard error. On a terminal, each active machine has a status
// line that is redrawn in place, below all final messages. If standard error is not a terminal,
// plain lines are printed when a step begins or ends, and every ten seconds. AddNoise is
// thread-safe; all other functions must be called by one thread.

namespace graphd::ctl {

class CopyProgressBoard {
 public:
  explicit CopyProgressBoard(const CopyPlan& plan);

  // Adds a line that `graphctl receive` on a machine wrote to its standard error.
  void AddNoise(const std::string& host, const std::string& line);
  // Updates the machine's status line.
  void Show(size_t host, const HostProgress& progress);
  // Redraws the screen.
  void Draw();

 private:
  using Step = HostProgress::Step;
  struct Row {
    Step step = Step::kConnecting;
    std::string status;  // the machine's status line
    Clock::time_point sending_since{}, printed_at = Clock::now();
  };
  std::string StatusLine(size_t host, const Row& row, const HostProgress& progress) const;
  void AddMessage(const std::string& host, const std::string& text);

  const CopyPlan& plan_;
  const bool terminal_;
  std::vector<Row> rows_;
  std::string final_;  // messages that stay on the screen
  size_t drawn_ = 0;   // number of lines that the next Draw replaces
  Mutex mutex_;
  std::string noise_ GRAPHD_GUARDED_BY(mutex_);
};

// Returns a text such as "sent 12 files, 1.2 GiB in 3.1 s, 400 MB/s; 4 files were already there".
std::string Summary(const HostProgress& progress);

}  // namespace graphd::ctl
