// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_orders.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/supervise/answer.h"
#include "ctl/supervise/job_directory.h"
#include "ctl/supervise/log_tail.h"

namespace graphd::ctl {
namespace {

constexpr int kPauseMilliseconds = 100;
// The time that a supervisor may take beyond the trainers' grace until it has ended.
constexpr double kEndSeconds = 15;

struct Log {
  int rank;
  LogTail tail;
};

std::vector<Log> OpenLogs(const nlohmann::json& state, int64_t lines) {
  const std::string directory = ValueOr(state, "log_dir", "");
  std::vector<Log> logs;
  for (const nlohmann::json& trainer : ValueOr(state, "trainers", nlohmann::json::array())) {
    const int rank = ValueOr(trainer, "rank", -1);
    logs.push_back({rank, LogTail(StrCat(directory, "/trainer-", rank, ".log"), lines)});
  }
  return logs;
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

void Follow(const FollowSpec& spec, uint16_t port) {
  const JobDirectory directory = JobDirectory::Open(spec.job, port);
  nlohmann::json state = directory.ReadState();
  bool lives = directory.IsLive();
  SendFrame({{"t", "job"}, {"state", state}, {"lives", lives}, {"directory", directory.path()}});
  std::vector<Log> logs;
  if (spec.output) logs = OpenLogs(state, spec.lines);
  while (true) {
    const bool is_last = !spec.until_end || !lives || IsOver(state);
    while (SendLines(logs, is_last)) {
    }
    if (is_last || !PauseWhileAsked(kPauseMilliseconds)) return;
    // Whether it lives is asked first: a supervisor writes the state before it ends.
    lives = directory.IsLive();
    nlohmann::json now = directory.ReadState();
    if (now == state && lives) continue;
    state = std::move(now);
    SendFrame({{"t", "job"}, {"state", state}, {"lives", lives}, {"directory", directory.path()}});
  }
}

}  // namespace

int FollowJob(const HostOrder& order) {
  try {
    Follow(order.follow, order.server.port);
    SendFrame({{"t", "done"}});
    return 0;
  } catch (const Error& error) {
    return SendError(error);
  }
}

bool StopJob(const std::string& job, uint16_t port, double grace) {
  if (!IsJobId(job) || !JobDirectory::Exists(job, port)) return false;
  const JobDirectory directory = JobDirectory::Open(job, port);
  if (!directory.IsLive() || IsOver(directory.ReadState())) return false;
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
