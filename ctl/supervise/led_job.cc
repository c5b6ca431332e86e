// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/led_job.h"

#include <chrono>

namespace graphd::ctl {

LedJob::LedJob(const HostOrder& order)
    : directory_(JobDirectory::Make(order.job.job_id, order.server.port)),
      state_(order, order.job.log_dir.empty() ? directory_.path() : order.job.log_dir) {
  own_.host = static_cast<uint32_t>(order.meeting.host);
  own_.name = order.meeting.name;
  Keep();
}

void LedJob::OnTrainers(const std::vector<std::pair<int, pid_t>>& pids_by_rank) {
  own_.phase = JobPhase::kRunning;
  state_.SetRunning(pids_by_rank);
  Keep();
}

void LedJob::OnExit(int rank, int code, int signal) {
  state_.SetExit(rank, code, signal);
  Keep();
}

void LedJob::SetOutcome(int code, const std::string& reason) {
  if (has_outcome_) return;
  has_outcome_ = true;
  own_.code = code;
  own_.reason = reason;
  own_.ended_at =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void LedJob::End() {
  own_.phase = JobPhase::kOver;
  Keep();
}

void LedJob::Keep() { state_.Keep(own_, {own_}, directory_); }

}  // namespace graphd::ctl
