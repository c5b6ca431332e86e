// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/mutex.h"
#include "ctl/copy/copy_progress_board.h"
#include "ctl/copy/host_copy.h"
#include "ctl/hosts/cancellable_threads.h"

// Carries out a CopyPlan. One thread per machine asks which files the machine has. When all
// machines have answered without an error, missing files are sent to at most `jobs` machines at a
// time. A machine that fails while files are sent does not affect the others. Main thread only.

namespace graphd::ctl {

struct CopyOptions {
  int jobs = 0;  // 0: the number of this machine's processors, at least 2
  bool verify = false;
  double stall_timeout = 600;   // a host is given up after so many seconds without progress
  std::string graphctl;         // path on this machine
  std::string remote_graphctl;  // path on other machines
  SshOptions ssh;
};

struct HostResult {
  HostProgress progress;
  std::optional<Error> error;
};

class CopyRunner {
 public:
  CopyRunner(const CopyPlan& plan, const CopyOptions& options, CancellableThreads& threads);

  // Reads every file. Throws an Error that describes the damage if a file is damaged.
  void ChecksumSources();
  // Requires: ChecksumSources has returned.
  void Run();
  // The result of each host, after Run.
  const std::deque<HostResult>& results() const { return results_; }

 private:
  void CopyTo(size_t host);
  bool AwaitTurn(size_t host, HostCopy& copy);
  bool IsTurnOf(size_t host) const GRAPHD_REQUIRES(mutex_);
  int Jobs() const;

  const CopyPlan& plan_;
  const CopyOptions& options_;
  CancellableThreads& threads_;
  std::vector<uint64_t> checksums_;
  std::deque<HostResult> results_;
  CopyProgressBoard board_;

  Mutex mutex_;
  CondVar changed_;
  size_t asked_ GRAPHD_GUARDED_BY(mutex_) = 0;  // number of machines that have not answered yet
  bool any_failed_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::vector<bool> ended_ GRAPHD_GUARDED_BY(mutex_);  // indexed by host
};

}  // namespace graphd::ctl
