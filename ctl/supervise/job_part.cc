// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_part.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr uint64_t kTickMilliseconds = 100;
// The time after which the daemon of this host is told again: it may have been restarted.
constexpr double kRecordSeconds = 5;
// The time that other hosts get to learn that the job has ended, before the daemon where they meet
// may end with it.
constexpr double kLeaveSeconds = 10;
// The time that the others get to hear that all have ended, and that they wait for it.
constexpr double kHearSeconds = 0.6;
constexpr double kHearOthersSeconds = 3;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

nlohmann::json HostJson(const JobHost& host) {
  return {{"host", host.host},       {"name", host.name}, {"phase", JobPhaseName(host.phase)},
          {"attempt", host.attempt}, {"code", host.code}, {"reason", host.reason}};
}

}  // namespace

JobPart::JobPart(uv_loop_t* loop, const HostOrder& order, Actions actions)
    : order_(order),
      actions_(std::move(actions)),
      directory_(JobDirectory::Make(order.job.job_id, order.server.port)) {
  const JobSpec& job = order_.job;
  nlohmann::json trainers = nlohmann::json::array();
  for (const TrainerPlan& trainer : order_.trainers) {
    trainers.push_back({{"rank", trainer.rank}, {"label", trainer.label}, {"running", false}});
  }
  state_ = {{"job", job.job_id},
            {"command", DisplayCommand(job.command)},
            {"workspace", job.workspace},
            {"server_name", order_.server.server_name},
            {"runtime_dir", order_.server.runtime_dir},
            {"ip_config_text", job.ip_config_text},
            {"trainer_hosts", job.trainer_hosts},
            {"log_dir", job.log_dir.empty() ? directory_.path() : job.log_dir},
            {"host", order_.meeting.host},
            {"name", order_.meeting.name},
            {"world_size", job.world_size},
            {"max_restarts", job.max_restarts},
            {"detached", false},
            {"pid", ::getpid()},
            {"started_at", Now()},
            {"trainers", trainers}};
  own_.host = static_cast<uint32_t>(order_.meeting.host);
  own_.name = order_.meeting.name;
  // A timer that has started outlives this object if the constructor throws.
  talk_ = std::make_unique<JobTalk>(loop, order_, [this] { Act(); });
  timer_ = new uv_timer_t{};
  uv_timer_init(loop, timer_);
  timer_->data = this;
  uv_timer_start(
      timer_, [](uv_timer_t* timer) { static_cast<JobPart*>(timer->data)->Act(); },
      kTickMilliseconds, kTickMilliseconds);
  Say(JobPhase::kPreparing);
}

JobPart::~JobPart() {
  uv_close(reinterpret_cast<uv_handle_t*>(timer_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
}

// --- What this host says

void JobPart::Say(JobPhase phase) {
  own_.phase = phase;
  talk_->Say(own_);
  Keep();
}

void JobPart::OnReady(int port) {
  ready_ = true;
  own_.port = static_cast<uint16_t>(port);
  if (!ending_) Say(JobPhase::kReady);
}

void JobPart::OnTrainers(const std::vector<std::pair<int, pid_t>>& pids_by_rank) {
  trainers_gone_ = pids_by_rank.empty();
  for (nlohmann::json& trainer : state_["trainers"]) {
    for (const auto& [rank, pid] : pids_by_rank) {
      if (trainer["rank"] != rank) continue;
      trainer["pid"] = pid;
      trainer["running"] = true;
      trainer.erase("code");
      trainer.erase("signal");
    }
  }
  Keep();
}

void JobPart::OnExit(int rank, int code, int signal, bool ending) {
  for (nlohmann::json& trainer : state_["trainers"]) {
    if (trainer["rank"] != rank) continue;
    trainer["running"] = false;
    trainer["code"] = code;
    trainer["signal"] = signal;
  }
  if (code != 0 && !ending && own_.phase == JobPhase::kRunning) {
    own_.code = code;
    own_.ended_at = Now();
    own_.reason = StrCat(
        TrainerName(order_, rank), " on ", order_.meeting.name, " ",
        signal ? StrCat("was killed by signal ", signal) : StrCat("exited with code ", code));
    Say(JobPhase::kFailed);
  }
  Keep();
}

void JobPart::OnAllEnded() {
  trainers_gone_ = true;
  if (ending_) return GoOver();
  if (interrupted_ || own_.phase != JobPhase::kRunning) return;
  own_.ended_at = Now();
  Say(JobPhase::kFinished);
}

void JobPart::Stop(int code, const std::string& reason, double grace) {
  if (ending_ || own_.phase == JobPhase::kStopped) return;
  own_.code = code;
  own_.reason = reason;
  own_.grace = grace;
  own_.ended_at = Now();
  Say(JobPhase::kStopped);
  Act();
}

void JobPart::OnDetached() {
  state_["detached"] = true;
  Keep();
}

// --- What follows from what all hosts say

void JobPart::Act() {
  if (acting_) return;
  acting_ = true;
  JobTalk::News news = talk_->Latest();
  if (!ending_) {
    FindTrouble(news);
    news = talk_->Latest();
    const JobDecision decision =
        Decide(news.hosts, own_.host, static_cast<uint32_t>(order_.meeting.num_hosts),
               static_cast<uint32_t>(order_.job.max_restarts));
    if (decision.kind == JobDecision::Kind::kEnd) {
      End(decision);
    } else if (decision.kind == JobDecision::Kind::kRestart && ready_) {
      Restart();
    } else if (decision.kind == JobDecision::Kind::kStart) {
      Say(JobPhase::kRunning);
      actions_.start(decision.port, own_.attempt);
    }
    news = talk_->Latest();
  }
  Record(news.hosts);
  Keep();
  if (over_) CheckLeave(news);
  acting_ = false;
}

// Stops the job if this host can't continue it.
void JobPart::FindTrouble(const JobTalk::News& news) {
  try {
    if (const auto grace = directory_.TakeStopRequest()) {
      return Stop(128 + SIGTERM, "it was stopped by `graphctl stop`", *grace);
    }
  } catch (const Error& error) {
    LogWarning("job ", order_.job.job_id, ": can't read the request to stop: ", error.what());
  }
  const Meeting& meeting = order_.meeting;
  const std::string where = StrCat("the server on ", meeting.address, ", where the hosts meet,");
  const double patience = std::max(order_.server_grace, meeting.host_timeout);
  // A job that runs outlives a refusal that passes, such as that of a server with new keys; one
  // that has not begun fails at once.
  if (news.refusal && (news.refusal->code() == ErrorCode::kVersion || !news.was_accepted ||
                       news.refused > patience)) {
    return Stop(ExitCode(news.refusal->code()),
                StrCat(meeting.name, ": ", where, " refuses its reports: ", news.refusal->what()));
  }
  if (ready_ && news.unreachable > patience) {
    return Stop(ExitCode(ErrorCode::kUnavailable),
                StrCat(meeting.name, ": ", where, " has not answered for ", patience,
                       " s (--server_grace, --host_timeout): ", news.trouble));
  }
  if (const auto silent = talk_->SilentHost(meeting.host_timeout)) {
    Stop(ExitCode(ErrorCode::kUnavailable),
         StrCat(silent->name, " has been silent for ", meeting.host_timeout,
                " s (--host_timeout); it is lost"));
  }
}

void JobPart::End(const JobDecision& decision) {
  ending_ = true;
  outcome_ = decision;
  if (trainers_gone_) return GoOver();
  actions_.end_trainers(decision.grace);
}

void JobPart::Restart() {
  if (!trainers_gone_) {
    interrupted_ = true;
    return actions_.end_trainers(0);
  }
  interrupted_ = false;
  own_.attempt++;
  own_.code = 0;
  own_.ended_at = 0;
  own_.reason.clear();
  try {
    own_.port = static_cast<uint16_t>(actions_.prepare(own_.attempt));
  } catch (const Error& error) {
    return Stop(ExitCode(error.code()), StrCat(order_.meeting.name, ": ", error.what()));
  }
  actions_.notice(
      StrCat("starting the trainers again (", own_.attempt, " of ", order_.job.max_restarts, ")"));
  Say(JobPhase::kReady);
}

// Reports that nothing of the job remains on this host.
void JobPart::GoOver() {
  if (over_) return;
  over_ = true;
  over_at_ = Clock::now();
  own_.code = outcome_.code;
  own_.reason = outcome_.reason;
  own_.ended_at = outcome_.ended_at;
  own_.grace = 0;
  Say(JobPhase::kOver);
  actions_.over(outcome_.code, outcome_.reason);
}

void JobPart::CheckLeave(const JobTalk::News& news) {
  const bool all_know = news.hosts.size() == static_cast<size_t>(order_.meeting.num_hosts) &&
                        std::all_of(news.hosts.begin(), news.hosts.end(), [](const JobHost& host) {
                          return host.phase == JobPhase::kOver;
                        });
  if (all_know && news.told && all_know_since_ == Clock::time_point()) {
    all_know_since_ = Clock::now();
  }
  const bool all_told = all_know_since_ != Clock::time_point();
  bool may = SecondsSince(over_at_) > kLeaveSeconds || order_.meeting.num_hosts == 1;
  // A launcher that is still there tells all hosts; the daemon may not have started at all.
  may = may || (news.unreachable > 0 && !state_["detached"].get<bool>());
  if (order_.meeting.host == 0) {
    // The daemon where the hosts meet may end with this host's part of the job. A host that has
    // left because the daemon had not started yet tells nothing any more, but its launcher does.
    may = may || (all_told && SecondsSince(all_know_since_) > kHearSeconds) ||
          (!state_["detached"].get<bool>() && SecondsSince(over_at_) > kHearOthersSeconds);
  } else {
    // The daemon of this host keeps what is known about all of them.
    may = may || all_told ||
          (news.told && (news.unreachable > 0 || SecondsSince(over_at_) > kHearOthersSeconds));
  }
  may_leave_ = may_leave_ || may;
}

// --- What is kept

nlohmann::json JobPart::HostsJson() const {
  nlohmann::json hosts = nlohmann::json::array();
  for (const JobHost& host : talk_->Latest().hosts) hosts.push_back(HostJson(host));
  return hosts;
}

// Writes the state if it has changed. A job continues if it can't be written, on a full disk for
// example.
void JobPart::Keep() {
  if (!talk_) return;
  state_["phase"] = JobPhaseName(own_.phase);
  state_["attempt"] = own_.attempt;
  state_["code"] = own_.code;
  state_["reason"] = own_.reason;
  state_["ended_at"] = own_.ended_at;
  state_["hosts"] = HostsJson();
  std::string text = state_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text == kept_) return;
  try {
    directory_.WriteState(state_);
    kept_ = std::move(text);
    write_failed_ = false;
  } catch (const Error& error) {
    if (std::exchange(write_failed_, true)) return;
    LogWarning("job ", order_.job.job_id, ": can't write its state: ", error.what());
  }
}

void JobPart::Record(const std::vector<JobHost>& hosts) {
  const std::string text =
      HostsJson().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text == recorded_ && SecondsSince(recorded_at_) < kRecordSeconds) return;
  recorded_ = text;
  recorded_at_ = Clock::now();
  actions_.record({order_.job.job_id, DisplayCommand(order_.job.command),
                   static_cast<uint32_t>(order_.meeting.num_hosts),
                   static_cast<uint32_t>(order_.job.max_restarts), 0, hosts});
}

}  // namespace graphd::ctl
