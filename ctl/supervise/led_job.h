// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/job_directory.h"
#include "ctl/supervise/job_state.h"

namespace graphd::ctl {

// The record, on one host, of a job that `graphctl launch` leads from its start to its end. It is
// stored in the same place and form as the records of JobPart, so that `graphctl logs` and `wait`
// also work after the job's end. Not thread-safe.
class LedJob {
 public:
  // Makes the job's directory. Throws as JobDirectory::Make does.
  explicit LedJob(const HostOrder& order);

  const JobDirectory& directory() const noexcept { return directory_; }

  void OnTrainers(const std::vector<std::pair<int, pid_t>>& pids_by_rank);
  void OnExit(int rank, int code, int signal);
  // Records how the job ends. An empty reason means that all trainers have succeeded. Only the
  // first call has an effect.
  void SetOutcome(int code, const std::string& reason);
  // Records that nothing of the job remains on this host.
  void End();

 private:
  void Keep();

  JobDirectory directory_;
  JobState state_;
  JobHost own_;
  bool has_outcome_ = false;
};

}  // namespace graphd::ctl
