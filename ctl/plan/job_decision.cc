// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/job_decision.h"

#include <algorithm>

namespace graphd::ctl {
namespace {

// Returns the host that ended first among those for which `is_meant` holds; null if there is none.
template <class Test>
const JobHost* FirstOf(const std::vector<JobHost>& hosts, const Test& is_meant) {
  const JobHost* first = nullptr;
  for (const JobHost& host : hosts) {
    if (!is_meant(host)) continue;
    const bool earlier = !first || host.ended_at < first->ended_at ||
                         (host.ended_at == first->ended_at && host.host < first->host);
    if (earlier) first = &host;
  }
  return first;
}

// Returns the decision to end the job with the code and the reason of a host. The grace of a failed
// host is not used: it belongs to the plan of an attempt, and not to the job's end.
JobDecision EndAs(const JobHost& host) {
  const double grace = host.phase == JobPhase::kFailed ? 0 : host.grace;
  return {JobDecision::Kind::kEnd, 0, host.code, host.reason, host.ended_at, grace};
}

}  // namespace

const JobHost* FindHost(const std::vector<JobHost>& hosts, uint32_t number) {
  const auto found = std::ranges::find(hosts, number, &JobHost::host);
  return found == hosts.end() ? nullptr : &*found;
}

bool IsAway(const JobHost& first_host, uint32_t number) {
  return std::ranges::find(first_host.away, number) != first_host.away.end();
}

uint32_t CountedRestarts(const JobHost& first_host) {
  return first_host.attempt - std::min(first_host.attempt, first_host.uncounted);
}

JobDecision Decide(const std::vector<JobHost>& hosts, uint32_t own, uint32_t num_hosts,
                   uint32_t max_restarts) {
  const JobHost* const ended = FirstOf(hosts, [](const JobHost& host) {
    return host.phase == JobPhase::kStopped || host.phase == JobPhase::kOver;
  });
  if (ended) return EndAs(*ended);
  const JobHost* const mine = FindHost(hosts, own);
  const JobHost* const lead = FindHost(hosts, 0);
  if (!mine || !lead) return {};
  JobDecision restart{JobDecision::Kind::kRestart, 0, 0, "", 0, 0};
  if (lead->attempt > mine->attempt) return restart;
  if (IsAway(*lead, own)) return {};
  const JobHost* const failed = FirstOf(hosts, [&](const JobHost& host) {
    return host.phase == JobPhase::kFailed && host.attempt == mine->attempt;
  });
  if (failed) return CountedRestarts(*lead) < max_restarts ? restart : EndAs(*failed);
  // Returns whether the phases of all hosts that take part in the current attempt pass the test.
  const auto all = [&](auto test) {
    for (uint32_t number = 0; number < num_hosts; number++) {
      if (IsAway(*lead, number)) continue;
      const JobHost* const host = FindHost(hosts, number);
      if (!host || host->attempt != mine->attempt || !test(host->phase)) return false;
    }
    return true;
  };
  if (mine->phase == JobPhase::kReady && all([](JobPhase phase) {
        return phase == JobPhase::kReady || phase == JobPhase::kRunning ||
               phase == JobPhase::kFinished;
      })) {
    JobDecision start{JobDecision::Kind::kStart, 0, 0, "", 0, 0};
    for (const JobHost& host : hosts) {
      if (host.attempt == mine->attempt) start.port = std::max<int>(start.port, host.port);
    }
    return start;
  }
  if (all([](JobPhase phase) { return phase == JobPhase::kFinished; })) {
    return {JobDecision::Kind::kEnd, 0, 0, "", mine->ended_at, 0};
  }
  return {};
}

const JobHost* FirstToEnd(const std::vector<JobHost>& hosts) {
  return FirstOf(hosts, [](const JobHost& host) { return host.phase == JobPhase::kOver; });
}

bool MergeHosts(std::vector<JobHost>& known, const std::vector<JobHost>& news) {
  bool changed = false;
  for (const JobHost& host : news) {
    const auto found = std::find_if(known.begin(), known.end(), [&host](const JobHost& each) {
      return each.host == host.host;
    });
    if (found == known.end()) {
      known.push_back(host);
      changed = true;
    } else if (found->sequence < host.sequence) {
      *found = host;
      changed = true;
    }
  }
  return changed;
}

}  // namespace graphd::ctl
