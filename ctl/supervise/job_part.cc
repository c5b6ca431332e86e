// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_part.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "ctl/plan/attempt_plan.h"
#include "ctl/plan/trainer_slots.h"

namespace graphd::ctl {
namespace {

constexpr uint64_t kTickMilliseconds = 100;
// The reports of all hosts are sent to the daemon of this host at least this often, because the
// daemon may have been restarted and then knows nothing about the job.
constexpr double kRecordSeconds = 5;
// At the end of the job, the other hosts no longer wait for a host that the job can do without once
// it has been silent for this time.
constexpr double kGoneSeconds = 3;
// A host that was away takes part again if its last report came within this time.
constexpr double kPresentSeconds = 3;
// A host is lost after the host timeout without a report. It ends its own trainers after this share
// of that time, so that none is left when the others go on without it.
constexpr double kAloneShare = 0.5;
// The time for which a host that was cut off waits for the daemon where the hosts meet: an hour.
constexpr double kAwaySeconds = 3600;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

JobPart::JobPart(uv_loop_t* loop, const HostOrder& order, Actions actions)
    : order_(order),
      actions_(std::move(actions)),
      directory_(JobDirectory::Make(order.job.job_id, order.server.port)),
      requests_(directory_, order.job.job_id),
      state_(order, order.job.log_dir.empty() ? directory_.path() : order.job.log_dir),
      wanted_(TrainersAtLaunch(order.job)) {
  own_.host = static_cast<uint32_t>(order_.meeting.host);
  own_.name = order_.meeting.name;
  away_ = order_.meeting.joins;
  joining_ = order_.meeting.joins;
  if (own_.host == 0 && order.job.min_trainers > 0) {
    LogFailure("hosts that were started again can't join the job, whose order can't be kept",
               [&] { directory_.WriteOrder(EncodeOrder(order_)); });
  }
  // The timer is started after all code that can throw. If the constructor threw later, the timer
  // would run without this object.
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

// --- The reports of this host

void JobPart::Say(JobPhase phase) {
  own_.phase = phase;
  talk_->Say(own_);
  Keep();
}

void JobPart::OnReady(int port) {
  ready_ = true;
  own_.port = static_cast<uint16_t>(port);
  if (is_stopped() || joining_) return;
  Say(away_ ? JobPhase::kAway : JobPhase::kReady);
}

void JobPart::OnTrainers(const std::vector<std::pair<int, pid_t>>& pids_by_rank) {
  state_.SetRunning(pids_by_rank);
  Keep();
}

void JobPart::OnExit(int rank, int code, int signal, bool ending) {
  state_.SetExit(rank, code, signal);
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
  if (is_stopped()) return;
  own_.code = code;
  own_.reason = reason;
  own_.grace = grace;
  own_.ended_at = Now();
  Say(JobPhase::kStopped);
  Act();
}

void JobPart::GiveUp(int code, const std::string& reason) {
  if (!MayLose(own_.host)) return Stop(code, reason);
  if (ending_) return;
  leaving_ = true;
  End({JobDecision::Kind::kEnd, 0, code, reason, Now(), 0});
}

void JobPart::OnDetached() {
  state_.SetDetached();
  Keep();
}

// --- Reactions to the reports of all hosts

void JobPart::Act() {
  if (acting_) return;
  acting_ = true;
  JobTalk::News news = talk_->Latest();
  if (!ending_) {
    if (joining_) Join(news);
    if (const std::optional<double> grace = requests_.TakeStop()) {
      Stop(128 + SIGTERM, "it was stopped by `graphctl stop`", *grace);
    }
    if (!is_stopped()) FindTrouble(news);
    if (!is_stopped() && own_.host == 0 && ready_) TakeRestartRequest(news);
    news = talk_->Latest();
    if (!ending_) CarryOut(news);
    if (preparing_ && trainers_gone_ && !is_stopped()) Prepare();
    news = talk_->Latest();
  }
  Record(news.hosts);
  Keep();
  if (over_) CheckLeave(news);
  acting_ = false;
}

void JobPart::CarryOut(const JobTalk::News& news) {
  const JobDecision decision =
      Decide(news.hosts, own_.host, static_cast<uint32_t>(order_.meeting.num_hosts),
             static_cast<uint32_t>(order_.job.max_restarts));
  if (decision.kind == JobDecision::Kind::kEnd) {
    End(decision);
  } else if (decision.kind == JobDecision::Kind::kRestart && ready_ && !joining_) {
    const JobHost* const first_host = FindHost(news.hosts, 0);
    if (own_.host == 0) {
      BeginAttempt(news, /*counts=*/true);
    } else if (first_host->attempt > own_.attempt) {
      FollowAttempt(*first_host);
    } else {
      Interrupt(/*at_once=*/false);
    }
  } else if (decision.kind == JobDecision::Kind::kStart && !preparing_) {
    // This is set before `start` is called, because `start` may fail when some trainers already
    // run.
    trainers_gone_ = false;
    Say(JobPhase::kRunning);
    actions_.start(decision.port);
  }
}

// Stops the job if this host can't continue it.
void JobPart::FindTrouble(const JobTalk::News& news) {
  const Meeting& meeting = order_.meeting;
  const std::string where = StrCat("the server on ", meeting.address, ", where the hosts meet,");
  const double patience = std::max(order_.server_grace, meeting.host_timeout);
  // A running job survives a refusal that passes, for example by a server with new keys. A job that
  // has not begun fails at once.
  if (news.refusal && (news.refusal->code() == ErrorCode::kVersion || !news.was_accepted ||
                       news.refused > patience)) {
    return GiveUp(
        ExitCode(news.refusal->code()),
        StrCat(meeting.name, ": ", where, " refuses its reports: ", news.refusal->what()));
  }
  if (MayLose(own_.host)) {
    if (talk_->SecondsUnheard() > meeting.host_timeout * kAloneShare) StayAway();
    // If no server has returned within this time, it must have ended together with the job.
    if (news.gone > patience || news.unreachable > patience + kAwaySeconds) {
      return GiveUp(ExitCode(ErrorCode::kUnavailable),
                    StrCat(meeting.name, ": ", where, " has not answered for ",
                           static_cast<int>(news.unreachable), " s: ", news.trouble));
    }
  } else if (ready_ && news.unreachable > patience) {
    return Stop(ExitCode(ErrorCode::kUnavailable),
                StrCat(meeting.name, ": ", where, " has not answered for ", patience,
                       " s (--server_grace, --host_timeout): ", news.trouble));
  }
  for (const JobHost& silent : talk_->SilentHosts(meeting.host_timeout)) {
    if (MayLose(silent.host)) continue;
    return Stop(ExitCode(ErrorCode::kUnavailable),
                StrCat(silent.name, " has been silent for ", meeting.host_timeout,
                       " s (--host_timeout); it is lost"));
  }
  if (own_.host == 0) FindLostHosts(news);
}

void JobPart::End(const JobDecision& decision) {
  ending_ = true;
  outcome_ = decision;
  if (trainers_gone_) return GoOver();
  actions_.end_trainers(/*at_once=*/false, decision.grace);
}

// --- Attempts

// Returns whether the job can go on without a host. It can't before it is detached, because until
// then its launcher ends it if any host is lost.
bool JobPart::MayLose(uint32_t host) const {
  const bool is_detached = state_.is_detached() || order_.meeting.joins;
  return order_.job.min_trainers > 0 && is_detached && OnlyComputes(order_.job, host);
}

bool JobPart::MayLoseHosts() const { return order_.job.min_trainers > 0 && state_.is_detached(); }

SilentHosts JobPart::SilentNow() const {
  const auto silent = [this](double seconds) {
    std::vector<uint32_t> numbers;
    for (const JobHost& host : talk_->SilentHosts(seconds)) numbers.push_back(host.host);
    return numbers;
  };
  return {silent(order_.meeting.host_timeout),
          silent(std::min(order_.meeting.host_timeout, kPresentSeconds))};
}

std::vector<uint32_t> JobPart::AbsentNow(const JobTalk::News& news) const {
  if (!MayLoseHosts()) return {};
  return AbsentHosts(news.hosts, order_.job, SilentNow());
}

// If hosts are lost, or were cut off and are back, begins an attempt: without the former, and with
// the latter. Only the first host calls this function.
void JobPart::FindLostHosts(const JobTalk::News& news) {
  if (!MayLoseHosts()) return;
  std::string lost, back;
  const auto add = [&news](std::string& names, uint32_t number) {
    const JobHost* const host = FindHost(news.hosts, number);
    names += StrCat(names.empty() ? "" : ", ", host->name);
    if (!host->reason.empty()) names += StrCat(" (", host->reason, ")");
  };
  const SilentHosts silent = SilentNow();
  for (const uint32_t number : AbsentHosts(news.hosts, order_.job, silent)) {
    if (!IsAway(own_, number)) add(lost, number);
  }
  for (const uint32_t number : HostsThatAreBack(news.hosts, order_.job, silent)) {
    add(back, number);
  }
  if (!back.empty()) actions_.notice(StrCat("a host is back: ", back));
  if (lost.empty()) {
    if (!back.empty()) BeginAttempt(news, /*counts=*/false);
    return;
  }
  // If the attempt has not started yet, it is planned again, which does not count as a restart.
  const bool counts = !preparing_ && own_.phase != JobPhase::kReady;
  if (counts && CountedRestarts(own_) >= static_cast<uint32_t>(order_.job.max_restarts)) {
    return Stop(ExitCode(ErrorCode::kUnavailable),
                StrCat("a host is lost, and the trainers were started again as often as "
                       "--max_restarts allows: ",
                       lost));
  }
  actions_.notice(StrCat("a host is lost: ", lost));
  BeginAttempt(news, counts);
}

// Begins the attempt that `graphctl restart` has asked for. If that is impossible, the job goes on
// as it is. Only the first host calls this function.
void JobPart::TakeRestartRequest(const JobTalk::News& news) {
  const std::optional<RestartRequest> request = requests_.TakeRestart();
  if (!request) return;
  try {
    const std::vector<uint32_t> wanted = WithTrainers(wanted_, order_.job, request->num_trainers);
    own_ = PlanAttempt(own_, order_.job, wanted, AbsentNow(news), /*counts=*/false);
    wanted_ = wanted;
  } catch (const Error& error) {
    actions_.notice(StrCat("refused to start the trainers again: ", error.what()));
    return state_.SetAnswer(request->id, own_.attempt, error.what());
  }
  own_.grace = request->grace;
  state_.SetAnswer(request->id, own_.attempt, "");
  FollowAttempt(own_);
}

// Plans the next attempt, which the other hosts then follow. Only the first host calls this
// function.
void JobPart::BeginAttempt(const JobTalk::News& news, bool counts) {
  try {
    own_ = PlanAttempt(own_, order_.job, wanted_, AbsentNow(news), counts);
  } catch (const Error& error) {
    return Stop(ExitCode(error.code()), error.what());
  }
  own_.grace = 0;
  FollowAttempt(own_);
}

// Gets ready for an attempt that the first host has planned.
void JobPart::FollowAttempt(const JobHost& first_host) {
  own_.attempt = first_host.attempt;
  own_.grace = own_.host == 0 ? first_host.grace : 0;
  own_.code = 0;
  own_.ended_at = 0;
  own_.port = 0;
  own_.reason.clear();
  away_ = IsAway(first_host, own_.host);
  preparing_ = true;
  restarts_ = CountedRestarts(first_host);
  state_.SetRestarts(restarts_);
  try {
    if (!away_ && !first_host.trainers.empty()) AssignTrainers(first_host.trainers, order_);
  } catch (const Error& error) {
    return Stop(ExitCode(error.code()), StrCat(order_.meeting.name, ": ", error.what()));
  }
  Interrupt(/*at_once=*/away_, first_host.grace);  // the others don't wait for an absent host
  // A host that is away and has no trainers left stays in the phase kAway, because the first host
  // would take any other phase for absence.
  if (!away_ || !trainers_gone_) Say(JobPhase::kPreparing);
}

// Adopts the number of the running attempt. This host does not take part in that attempt, because
// an earlier supervisor of this host may have started trainers of it.
void JobPart::Join(const JobTalk::News& news) {
  const JobHost* const first_host = FindHost(news.hosts, 0);
  if (!first_host || !ready_) return;
  joining_ = false;
  own_.attempt = first_host->attempt;
  if (!is_stopped()) Say(JobPhase::kAway);
}

// Ends the trainers before the other hosts go on without this host, and waits for the next attempt.
// Does nothing if all trainers here have finished, because their results count.
void JobPart::StayAway() {
  if (away_ || own_.phase == JobPhase::kFinished) return;
  away_ = preparing_ = true;
  own_.reason = "it was cut off";
  actions_.notice("this host is cut off from the others; waiting to take part again");
  Interrupt(/*at_once=*/true);
}

// Ends the trainers for another attempt.
void JobPart::Interrupt(bool at_once, double grace) {
  if (trainers_gone_) return;
  interrupted_ = true;
  actions_.end_trainers(at_once, grace);
}

// Begins the attempt when the trainers of the previous one have ended.
void JobPart::Prepare() {
  preparing_ = interrupted_ = false;
  if (away_) return Say(JobPhase::kAway);
  try {
    const std::string text = AttemptText(order_.job.world_size, restarts_,
                                         static_cast<uint64_t>(order_.job.max_restarts));
    own_.port = static_cast<uint16_t>(actions_.prepare(order_, own_.attempt, text));
  } catch (const Error& error) {
    return GiveUp(ExitCode(error.code()), StrCat(order_.meeting.name, ": ", error.what()));
  }
  state_.SetTrainers(order_);
  Say(JobPhase::kReady);
}

// Reports that nothing of the job remains on this host.
void JobPart::GoOver() {
  if (over_) return;
  over_ = true;
  leave_.NoteEnd();
  own_.code = outcome_.code;
  own_.reason = outcome_.reason;
  own_.ended_at = outcome_.ended_at;
  own_.grace = 0;
  LogFailure("can't remove the job's order", [this] { directory_.RemoveOrder(); });
  Say(leaving_ ? JobPhase::kLeft : JobPhase::kOver);
  actions_.over(outcome_.code, outcome_.reason);
}

void JobPart::CheckLeave(const JobTalk::News& news) {
  const auto knows = [this](const JobHost& host) {
    return host.phase == JobPhase::kOver || host.phase == JobPhase::kLeft ||
           (MayLose(host.host) && FindHost(talk_->SilentHosts(kGoneSeconds), host.host));
  };
  const auto num_hosts = static_cast<size_t>(order_.meeting.num_hosts);
  const bool all_know =
      leaving_ || (news.hosts.size() == num_hosts && std::ranges::all_of(news.hosts, knows));
  may_leave_ = leave_.Check(news, {own_.host == 0, num_hosts == 1, state_.is_detached(), all_know});
}

// --- The stored state and the record

void JobPart::Keep() {
  if (talk_) state_.Keep(own_, talk_->Latest().hosts, directory_);
}

void JobPart::Record(const std::vector<JobHost>& hosts) {
  const std::string text =
      HostsToJson(hosts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text == recorded_ && SecondsSince(recorded_at_) < kRecordSeconds) return;
  recorded_ = text;
  recorded_at_ = Clock::now();
  actions_.record({order_.job.job_id, DisplayCommand(order_.job.command),
                   static_cast<uint32_t>(order_.meeting.num_hosts),
                   static_cast<uint32_t>(order_.job.max_restarts), 0, hosts});
}

}  // namespace graphd::ctl
