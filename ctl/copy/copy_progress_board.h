// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "ctl/copy/host_copy.h"

// Shows the progress of a copy on standard error: on a terminal a line per machine at work, redrawn
// in place, and above them what is final; elsewhere plain lines, when something begins or ends and
// every ten seconds. AddNoise is thread-safe, the rest is for one thread.

namespace graphd::ctl {

class CopyProgressBoard {
 public:
  explicit CopyProgressBoard(const CopyPlan& plan);

  // A line that a machine's helper wrote to its standard error.
  void AddNoise(const std::string& host, const std::string& line);
  // Takes note of where the machine's copy is.
  void Show(size_t host, const HostProgress& progress);
  // Brings the screen up to date.
  void Draw();

 private:
  using Step = HostProgress::Step;
  struct Row {
    Step step = Step::kConnecting;
    std::string status;  // what stands in its line
    Clock::time_point sending_since{}, printed_at = Clock::now();
  };
  std::string StatusLine(size_t host, const Row& row, const HostProgress& progress) const;
  void AddMessage(const std::string& host, const std::string& text);

  const CopyPlan& plan_;
  const bool terminal_;
  std::vector<Row> rows_;
  std::string final_;  // lines to be printed for good
  size_t drawn_ = 0;   // lines that the next Draw replaces
  std::mutex mutex_;   // of noise_
  std::string noise_;
};

// "12 files, 1.2 GiB in 3.1 s, 400 MB/s; 4 files were there already".
std::string Summary(const HostProgress& progress);

}  // namespace graphd::ctl
