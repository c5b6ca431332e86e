// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "ctl/supervise/job_directory.h"

namespace graphd::ctl {

// The requests of users that wait in a job's directory. An invalid request is dropped. A request
// that can't be read now stays, and the reason is logged only once. Not thread-safe.
class JobRequests {
 public:
  JobRequests(const JobDirectory& directory, std::string job)
      : directory_(directory), job_(std::move(job)) {}

  // Returns the grace period of the trainers, in seconds, if a user has asked to stop the job.
  std::optional<double> TakeStop();
  // Returns a request to start the trainers again.
  std::optional<RestartRequest> TakeRestart();

 private:
  // Calls `take` and returns its result. If `take` throws, logs a warning and returns nothing.
  template <class Take>
  auto TakeOrWarn(const char* what, Take take) -> decltype(take());

  const JobDirectory& directory_;
  const std::string job_;
  std::string trouble_;  // the error that was logged last
};

}  // namespace graphd::ctl
