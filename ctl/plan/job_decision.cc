// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/job_decision.h"

#include <algorithm>

namespace graphd::ctl {
namespace {

// Returns the first of the hosts for which `is_meant` holds, by the time at which they ended.
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

JobDecision EndAs(const JobHost& host) {
  return {JobDecision::Kind::kEnd, 0, host.code, host.reason, host.ended_at, host.grace};
}

}  // namespace

JobDecision Decide(const std::vector<JobHost>& hosts, uint32_t own, uint32_t num_hosts,
                   uint32_t max_restarts) {
  const JobHost* const ended = FirstOf(hosts, [](const JobHost& host) {
    return host.phase == JobPhase::kStopped || host.phase == JobPhase::kOver;
  });
  if (ended) return EndAs(*ended);
  const JobHost* const mine =
      FirstOf(hosts, [own](const JobHost& host) { return host.host == own; });
  if (!mine) return {};
  const JobHost* const failed = FirstOf(hosts, [mine](const JobHost& host) {
    return host.phase == JobPhase::kFailed && host.attempt == mine->attempt;
  });
  const bool others_restart = std::any_of(hosts.begin(), hosts.end(), [mine](const JobHost& host) {
    return host.attempt > mine->attempt;
  });
  if (failed && mine->attempt >= max_restarts) return EndAs(*failed);
  if (failed || others_restart) return {JobDecision::Kind::kRestart, 0, 0, "", 0, 0};
  if (hosts.size() < num_hosts) return {};
  const auto all = [&](auto test) {
    return std::all_of(hosts.begin(), hosts.end(), [&](const JobHost& host) {
      return host.attempt == mine->attempt && test(host.phase);
    });
  };
  if (mine->phase == JobPhase::kReady &&
      all([](JobPhase phase) { return phase != JobPhase::kPreparing; })) {
    JobDecision start{JobDecision::Kind::kStart, 0, 0, "", 0, 0};
    for (const JobHost& host : hosts) start.port = std::max<int>(start.port, host.port);
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
