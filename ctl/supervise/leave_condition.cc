// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/leave_condition.h"

namespace graphd::ctl {
namespace {

// The time that other hosts get to learn that the job has ended, before the daemon where they meet
// may end with it.
constexpr double kLeaveSeconds = 10;
// The time for the other hosts to receive the news that all hosts have ended.
constexpr double kHearSeconds = 0.6;
// The time for which a host waits for the news that the other hosts have ended.
constexpr double kHearOthersSeconds = 3;

}  // namespace

bool LeaveCondition::Check(const JobTalk::News& news, const Hosts& hosts) {
  if (hosts.all_know && news.told && all_know_since_ == Clock::time_point()) {
    all_know_since_ = Clock::now();
  }
  const bool all_told = all_know_since_ != Clock::time_point();
  bool may = SecondsSince(over_at_) > kLeaveSeconds || hosts.is_alone;
  // If the daemon can't be reached, it may never have started, and waiting for it would be in vain.
  // If the job has a launcher, that tells all hosts about the end.
  may = may || (news.unreachable > 0 && !hosts.is_detached);
  if (hosts.is_first) {
    // The daemon where the hosts meet may end with this host's part of the job. A host that has
    // left because the daemon had not started yet reports nothing any more. So this host does not
    // wait long for reports if a launcher, which tells all hosts, still runs.
    may = may || (all_told && SecondsSince(all_know_since_) > kHearSeconds) ||
          (!hosts.is_detached && SecondsSince(over_at_) > kHearOthersSeconds);
  } else {
    // The daemon of this host stores the reports of all hosts.
    may = may || all_told ||
          (news.told && (news.unreachable > 0 || SecondsSince(over_at_) > kHearOthersSeconds));
  }
  may_leave_ = may_leave_ || may;
  return may_leave_;
}

}  // namespace graphd::ctl
