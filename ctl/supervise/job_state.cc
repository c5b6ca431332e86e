// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_state.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "ctl/plan/job_decision.h"

namespace graphd::ctl {

nlohmann::json HostsToJson(const std::vector<JobHost>& hosts) {
  const JobHost* const first_host = FindHost(hosts, 0);
  nlohmann::json all = nlohmann::json::array();
  for (const JobHost& host : hosts) {
    all.push_back({{"host", host.host},
                   {"name", host.name},
                   {"phase", JobPhaseName(host.phase)},
                   {"attempt", host.attempt},
                   {"code", host.code},
                   {"reason", host.reason}});
    if (first_host && IsAway(*first_host, host.host)) all.back()["away"] = true;
  }
  return all;
}

JobState::JobState(const HostOrder& order, std::string log_dir) {
  const JobSpec& job = order.job;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  state_ = {{"job", job.job_id},
            {"command", DisplayCommand(job.command)},
            {"workspace", job.workspace},
            {"server_name", order.server.server_name},
            {"runtime_dir", order.server.runtime_dir},
            {"ip_config_text", job.ip_config_text},
            {"trainer_hosts", job.trainer_hosts},
            {"log_dir", std::move(log_dir)},
            {"host", order.meeting.host},
            {"name", order.meeting.name},
            {"host_timeout", order.meeting.host_timeout},
            {"max_restarts", job.max_restarts},
            {"restarts", 0},
            {"led", !HostsMeet(job)},
            {"detached", false},
            {"pid", ::getpid()},
            {"started_at", now.count()},
            {"trainers", nlohmann::json::array()}};
  SetTrainers(order);
}

void JobState::SetTrainers(const HostOrder& order) {
  state_["world_size"] = order.job.world_size;
  nlohmann::json& shown = state_["trainers"];
  for (const TrainerPlan& trainer : order.trainers) {
    const bool is_shown = std::ranges::any_of(
        shown, [&trainer](const nlohmann::json& each) { return each["rank"] == trainer.rank; });
    if (is_shown) continue;
    shown.push_back({{"rank", trainer.rank}, {"label", trainer.label}, {"running", false}});
  }
}

void JobState::SetRunning(const std::vector<std::pair<int, pid_t>>& pids_by_rank) {
  for (nlohmann::json& trainer : state_["trainers"]) {
    for (const auto& [rank, pid] : pids_by_rank) {
      if (trainer["rank"] != rank) continue;
      trainer["pid"] = pid;
      trainer["running"] = true;
      trainer.erase("code");
      trainer.erase("signal");
    }
  }
}

void JobState::SetExit(int rank, int code, int signal) {
  for (nlohmann::json& trainer : state_["trainers"]) {
    if (trainer["rank"] != rank) continue;
    trainer["running"] = false;
    trainer["code"] = code;
    trainer["signal"] = signal;
  }
}

void JobState::SetAnswer(const std::string& request_id, uint32_t attempt,
                         const std::string& refusal) {
  state_["restart"] = {{"id", request_id}, {"attempt", attempt}, {"refusal", refusal}};
}

void JobState::Keep(const JobHost& own, const std::vector<JobHost>& hosts,
                    const JobDirectory& directory) {
  state_["phase"] = JobPhaseName(own.phase);
  state_["attempt"] = own.attempt;
  state_["code"] = own.code;
  state_["reason"] = own.reason;
  state_["ended_at"] = own.ended_at;
  state_["hosts"] = HostsToJson(hosts);
  std::string text = state_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text == kept_) return;
  try {
    directory.WriteState(state_);
    kept_ = std::move(text);
    write_failed_ = false;
  } catch (const Error& error) {
    if (std::exchange(write_failed_, true)) return;
    LogWarning("job ", state_["job"].get<std::string>(), ": can't write its state: ", error.what());
  }
}

}  // namespace graphd::ctl
