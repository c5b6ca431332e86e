// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ctl/copy/copy_progress_board.h"
#include "ctl/copy/host_copy.h"
#include "ctl/hosts/cancellable_threads.h"

// Carries out a CopyPlan: a thread per machine asks it what it has; when all have answered, and
// none has said why not, what is missing is sent, to at most `jobs` machines at a time. A machine
// that fails then does not keep the others from getting theirs. Main thread only.

namespace graphd::ctl {

struct CopyOptions {
  int jobs = 0;  // 0: as many as this machine has processors, at least 2
  bool verify = false;
  double stall_timeout = 600;   // a host that gets no further for so long is given up
  std::string graphctl;         // here
  std::string remote_graphctl;  // elsewhere
  SshOptions ssh;
};

struct HostResult {
  HostProgress progress;
  std::optional<Error> error;
};

class CopyRunner {
 public:
  CopyRunner(const CopyPlan& plan, const CopyOptions& options, CancellableThreads& threads);

  // Reads every file. Throws what is wrong with one that is damaged.
  void ChecksumSources();
  // Requires: ChecksumSources.
  void Run();
  // After Run, by host.
  const std::deque<HostResult>& results() const { return results_; }

 private:
  void CopyTo(size_t host);
  bool AwaitTurn(size_t host, HostCopy& copy);
  int Jobs() const;

  const CopyPlan& plan_;
  const CopyOptions& options_;
  CancellableThreads& threads_;
  std::vector<uint64_t> checksums_;
  std::deque<HostResult> results_;
  CopyProgressBoard board_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  size_t asked_ = 0;  // machines that have not answered yet
  bool any_failed_ = false;
  std::vector<bool> ended_;  // by host
};

}  // namespace graphd::ctl
