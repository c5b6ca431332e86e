// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "ctl/supervise/job_directory.h"

namespace graphd::ctl {

// The requests of users that wait in a job's directory. One that makes no sense is dropped; one
// that can't be read for now stays. The reason is logged once. Used by one thread.
class JobRequests {
 public:
  JobRequests(const JobDirectory& directory, std::string job)
      : directory_(directory), job_(std::move(job)) {}

  // Returns the seconds that trainers have to end, if the job is to be stopped.
  std::optional<double> TakeStop();
  // Returns a request to start the trainers again.
  std::optional<RestartRequest> TakeRestart();

 private:
  // Returns what `take` returns; nothing, after a warning, if it throws.
  template <class Take>
  auto TakeOrWarn(const char* what, Take take) -> decltype(take());

  const JobDirectory& directory_;
  const std::string job_;
  std::string trouble_;  // the error that was logged last
};

}  // namespace graphd::ctl
