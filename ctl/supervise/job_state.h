// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/job_directory.h"
#include "wire/job_record.h"

namespace graphd::ctl {

// Returns the reports of the hosts of a job in the form that `graphctl attach` and `graphctl
// restart` read.
nlohmann::json HostsToJson(const std::vector<JobHost>& hosts);

// The state of a host's part of a job, which the job's directory stores. It must be used on the
// loop's thread.
class JobState {
 public:
  JobState(const HostOrder& order, std::string log_dir);

  // Sets the trainers of an attempt. Trainers that only an earlier attempt had stay in the state,
  // with their output.
  void SetTrainers(const HostOrder& order);
  void SetRunning(const std::vector<std::pair<int, pid_t>>& pids_by_rank);
  void SetExit(int rank, int code, int signal);
  void SetDetached() { state_["detached"] = true; }
  bool is_detached() const { return state_["detached"].get<bool>(); }
  // Sets the answer to a restart request: the number of the attempt that has begun because of it
  // or, if the request is refused, the reason.
  void SetAnswer(const std::string& request_id, uint32_t attempt, const std::string& refusal);
  // Sets how often the trainers were started again after failures.
  void SetRestarts(uint32_t restarts) { state_["restarts"] = restarts; }

  // Writes the state if it has changed. If it can't be written, because the disk is full for
  // example, the job continues.
  void Keep(const JobHost& own, const std::vector<JobHost>& hosts, const JobDirectory& directory);

 private:
  nlohmann::json state_;
  std::string kept_;  // the text that was written last
  bool write_failed_ = false;
};

}  // namespace graphd::ctl
