// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/attempt_plan.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "ctl/plan/job_decision.h"
#include "ctl/plan/trainer_slots.h"

namespace graphd::ctl {
namespace {

bool Has(const std::vector<uint32_t>& numbers, uint32_t number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

// Returns whether a host waits for the next attempt, although the first host's plan includes it in
// the current one.
bool WaitsIn(const JobHost& first, const JobHost& host) {
  return host.phase == JobPhase::kAway && host.attempt == first.attempt &&
         !IsAway(first, host.host);
}

// Returns whether a host for which WaitsIn is true can take part in the next attempt without
// `graphctl restart`: it was cut off (its report has a reason), and now it reports again.
bool IsBack(const JobHost& host, const SilentHosts& silent) {
  return !host.reason.empty() && !Has(silent.quiet, host.host);
}

}  // namespace

std::vector<uint32_t> AbsentHosts(const std::vector<JobHost>& hosts, const JobSpec& job,
                                  const SilentHosts& silent) {
  std::vector<uint32_t> absent;
  const JobHost* const first = FindHost(hosts, 0);
  if (!first) return absent;
  for (const JobHost& host : hosts) {
    if (!OnlyComputes(job, host.host)) continue;
    bool is_absent = host.phase == JobPhase::kLeft;
    if (IsAway(*first, host.host)) {
      is_absent = host.phase != JobPhase::kAway || Has(silent.quiet, host.host);
    } else if (WaitsIn(*first, host)) {
      is_absent = !IsBack(host, silent);
    } else if (!is_absent) {
      const bool has_finished = host.phase == JobPhase::kFinished && host.attempt == first->attempt;
      is_absent = Has(silent.lost, host.host) && !has_finished;
    }
    if (is_absent) absent.push_back(host.host);
  }
  return absent;
}

std::vector<uint32_t> HostsThatAreBack(const std::vector<JobHost>& hosts, const JobSpec& job,
                                       const SilentHosts& silent) {
  std::vector<uint32_t> back;
  const JobHost* const first = FindHost(hosts, 0);
  if (!first) return back;
  for (const JobHost& host : hosts) {
    if (!OnlyComputes(job, host.host) || !WaitsIn(*first, host)) continue;
    if (IsBack(host, silent)) back.push_back(host.host);
  }
  return back;
}

std::vector<uint32_t> WithTrainers(std::vector<uint32_t> trainers, const JobSpec& job,
                                   int num_trainers) {
  if (num_trainers == 0) return trainers;
  if (trainers.empty()) {
    Throw(ErrorCode::kInvalid, "torchrun starts the trainers of job ", job.job_id,
          ", so that --num_trainers can't change their number");
  }
  if (num_trainers < 0 || static_cast<uint32_t>(num_trainers) > kMaxTrainersPerSlot) {
    Throw(ErrorCode::kInvalid, "--num_trainers ", num_trainers, ": give a number from 1 to ",
          kMaxTrainersPerSlot);
  }
  for (uint32_t& count : trainers) {
    if (count > 0) count = static_cast<uint32_t>(num_trainers);
  }
  return trainers;
}

JobHost PlanAttempt(JobHost first_host, const JobSpec& job, const std::vector<uint32_t>& wanted,
                    std::vector<uint32_t> absent, bool counts) {
  first_host.trainers = WithoutHosts(wanted, job, absent);
  const bool all_are_there = absent.empty();
  first_host.away = std::move(absent);
  first_host.attempt++;
  if (!counts) first_host.uncounted++;
  const int64_t left = NumTrainers(first_host.trainers);
  if (!wanted.empty() && left < std::max(1, job.min_trainers)) {
    Throw(ErrorCode::kUnavailable, left, left == 1 ? " trainer is" : " trainers are", " left",
          all_are_there ? "" : " without the hosts that are lost", ", fewer than ",
          std::max(1, job.min_trainers), " (--min_trainers)");
  }
  return first_host;
}

std::string AttemptText(int num_trainers, uint64_t restarts, uint64_t max_restarts) {
  std::string text = StrCat("with ", num_trainers, num_trainers == 1 ? " trainer" : " trainers");
  if (max_restarts == 0) return text;
  return StrCat(text, "; ", restarts, " of ", max_restarts,
                max_restarts == 1 ? " restart" : " restarts", " of --max_restarts ",
                restarts == 1 ? "is" : "are", " used");
}

}  // namespace graphd::ctl
