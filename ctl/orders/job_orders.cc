// SPDX-License-Identifier: Apache-2.0
#include "ctl/orders/job_orders.h"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/orders/answer.h"
#include "ctl/plan/json_value.h"
#include "ctl/supervise/job_directory.h"
#include "ctl/supervise/log_tail.h"

namespace graphd::ctl {
namespace {

constexpr int kPauseMilliseconds = 100;
// The time that a supervisor may take to end, in addition to the grace period of its trainers.
constexpr double kEndSeconds = 15;
// The time within which the job's first host must have received a report of each new supervisor.
constexpr double kJoinSeconds = 10;

struct Log {
  int rank;
  LogTail tail;
};

// Opens the logs of the trainers that are not in `logs` yet. It is called repeatedly, because a
// later attempt may have more trainers.
void OpenLogs(const nlohmann::json& state, int64_t lines, std::vector<Log>& logs) {
  const std::string directory = ValueOr(state, "log_dir", "");
  for (const nlohmann::json& trainer : ValueOr(state, "trainers", nlohmann::json::array())) {
    const int rank = ValueOr(trainer, "rank", -1);
    if (std::ranges::find(logs, rank, &Log::rank) != logs.end()) continue;
    logs.push_back({rank, LogTail(StrCat(directory, "/trainer-", rank, ".log"), lines)});
  }
}

// Sends what the logs have now. Returns whether there was something.
bool SendLines(std::vector<Log>& logs, bool to_the_end) {
  bool any = false;
  for (Log& log : logs) {
    const std::string lines = log.tail.Next(to_the_end);
    if (lines.empty()) continue;
    SendFrame({{"t", "out"}, {"rank", log.rank}, {"fd", 1}}, lines);
    any = true;
  }
  return any;
}

bool IsOver(const nlohmann::json& state) { return ValueOr(state, "phase", "") == "over"; }

bool IsLed(const nlohmann::json& state) { return ValueOr(state, "led", false); }

void Follow(const FollowSpec& spec, uint16_t port) {
  const JobDirectory directory = JobDirectory::Open(spec.job, port);
  // IsLive is called before ReadState, because a supervisor writes its last state before it ends.
  bool lives = directory.IsLive();
  nlohmann::json state = directory.ReadState();
  SendFrame({{"t", "job"}, {"state", state}, {"lives", lives}, {"directory", directory.path()}});
  std::vector<Log> logs;
  if (spec.output) OpenLogs(state, spec.lines, logs);
  while (true) {
    const bool is_last = !spec.until_end || !lives || IsOver(state);
    while (SendLines(logs, is_last)) {
    }
    if (is_last || !PauseWhileAsked(kPauseMilliseconds)) return;
    lives = directory.IsLive();
    nlohmann::json now = directory.ReadState();
    if (now == state && lives) continue;
    state = std::move(now);
    if (spec.output) OpenLogs(state, /*lines=*/-1, logs);
    SendFrame({{"t", "job"}, {"state", state}, {"lives", lives}, {"directory", directory.path()}});
  }
}

// Returns the names of the hosts that take no part in the job's attempt.
std::vector<std::string> AwayHosts(const nlohmann::json& state) {
  std::vector<std::string> names;
  for (const nlohmann::json& host : ValueOr(state, "hosts", nlohmann::json::array())) {
    if (ValueOr(host, "away", false)) names.push_back(ValueOr(host, "name", "?"));
  }
  return names;
}

// Returns whether all hosts with these numbers wait outside the job's current attempt, so that they
// can take part in the next one.
bool AllWait(const std::vector<uint32_t>& numbers, const nlohmann::json& state) {
  size_t waiting = 0;
  for (const nlohmann::json& host : ValueOr(state, "hosts", nlohmann::json::array())) {
    const bool is_meant =
        std::ranges::find(numbers, ValueOr(host, "host", UINT32_MAX)) != numbers.end();
    const bool waits = ValueOr(host, "away", false) && ValueOr(host, "phase", "") == "away";
    if (is_meant && waits) waiting++;
  }
  return waiting == numbers.size();
}

void CheckRestart(const RestartSpec& restart, const nlohmann::json& state, bool lives) {
  if (!lives || IsOver(state)) {
    Throw(ErrorCode::kNotFound, "job ", restart.job, " has ended; `graphctl wait ", restart.job,
          "` says how; launch it again instead: trainers that call graphd.checkpoint.latest with "
          "the prefix of its checkpoints resume from the last one");
  }
  if (!ValueOr(state, "detached", false)) {
    Throw(ErrorCode::kInvalid, "job ", restart.job,
          " has a launcher, which shows its output; only a job of `graphctl launch --detach` can "
          "be restarted");
  }
  if (ValueOr(state, "host", -1) != 0) {
    Throw(ErrorCode::kInvalid, "this is not the first host of job ", restart.job,
          "; give the --ip_config that it was launched with");
  }
}

void Restart(const RestartSpec& restart, uint16_t port) {
  const JobDirectory directory = JobDirectory::Open(restart.job, port);
  nlohmann::json state = directory.ReadState();
  CheckRestart(restart, state, directory.IsLive());
  const UniqueFd lock = directory.LockRestart(restart.job);
  Clock::time_point begin = Clock::now();
  while (!AllWait(restart.joining, state) && SecondsSince(begin) < kJoinSeconds) {
    if (!PauseWhileAsked(kPauseMilliseconds)) return;
    state = directory.ReadState();
  }
  const std::string request = directory.RequestRestart(restart);
  const double limit = restart.grace + ValueOr(state, "host_timeout", 0.0) + kEndSeconds;
  begin = Clock::now();
  while (true) {
    const bool lives = directory.IsLive();
    state = directory.ReadState();
    const auto answer = ValueOr(state, "restart", nlohmann::json::object());
    const bool is_answered = ValueOr(answer, "id", "") == request;
    const std::string refusal = is_answered ? ValueOr(answer, "refusal", "") : "";
    if (!refusal.empty()) {
      Throw(ErrorCode::kInvalid, "job ", restart.job, " goes on as it was: ", refusal);
    }
    const std::string phase = ValueOr(state, "phase", "");
    const bool has_begun = phase == "running" || phase == "finished" || phase == "failed";
    const bool is_later =
        ValueOr(state, "attempt", uint64_t{0}) >= ValueOr(answer, "attempt", uint64_t{0});
    if (is_answered && is_later && has_begun) break;
    if (!lives || IsOver(state)) {
      Throw(ErrorCode::kUnavailable, "job ", restart.job,
            " has ended: ", ValueOr(state, "reason", ""));
    }
    if (SecondsSince(begin) > limit) {
      Throw(ErrorCode::kDeadline, "the trainers of job ", restart.job, " do not run again after ",
            static_cast<int>(limit), " s; `graphctl ps` shows what its hosts do");
    }
    if (!PauseWhileAsked(kPauseMilliseconds)) return;
  }
  SendFrame({{"t", "restarted"},
             {"world_size", ValueOr(state, "world_size", 0)},
             {"away", AwayHosts(state)}});
}

}  // namespace

int TellJobOrder(const HostOrder& order) {
  try {
    const JobDirectory directory = JobDirectory::Open(order.restart.job, order.server.port);
    CheckRestart({order.restart.job, 0, 0, {}}, directory.ReadState(), directory.IsLive());
    SendFrame({{"t", "order"}, {"order", directory.ReadOrder()}});
    SendFrame({{"t", "done"}});
    return 0;
  } catch (const Error& error) {
    return SendError(error);
  }
}

int RestartJob(const HostOrder& order) {
  try {
    Restart(order.restart, order.server.port);
    SendFrame({{"t", "done"}});
    return 0;
  } catch (const Error& error) {
    return SendError(error);
  }
}

int FollowJob(const HostOrder& order) {
  try {
    Follow(order.follow, order.server.port);
    SendFrame({{"t", "done"}});
    return 0;
  } catch (const Error& error) {
    return SendError(error);
  }
}

bool HasEnded(const std::string& job, uint16_t port) {
  if (!IsJobId(job) || !JobDirectory::Exists(job, port)) return false;
  const JobDirectory directory = JobDirectory::Open(job, port);
  return !IsLed(directory.ReadState()) || !directory.IsLive();
}

bool StopJob(const std::string& job, uint16_t port, double grace) {
  if (!IsJobId(job) || !JobDirectory::Exists(job, port)) return false;
  const JobDirectory directory = JobDirectory::Open(job, port);
  const nlohmann::json state = directory.ReadState();
  if (!directory.IsLive() || IsOver(state) || IsLed(state)) return false;
  directory.RequestStop(grace);
  const Clock::time_point begin = Clock::now();
  while (directory.IsLive() && !IsOver(directory.ReadState())) {
    if (SecondsSince(begin) > grace + kEndSeconds) {
      Throw(ErrorCode::kDeadline, "the supervisor of job ", job, " has not ended it within ",
            grace + kEndSeconds, " seconds; its state is in ", directory.path(),
            "; `kill -9` of its process, ", ValueOr(directory.ReadState(), "pid", 0),
            ", ends the job on this host");
    }
    ::poll(nullptr, 0, 20);
  }
  return true;
}

}  // namespace graphd::ctl
