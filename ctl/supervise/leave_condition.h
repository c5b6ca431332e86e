// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/clock.h"
#include "ctl/supervise/job_talk.h"

namespace graphd::ctl {

// Decides when a host whose part of a job is over may leave it: the others must hear of the job's
// end before the daemon where they meet, which may end with the job, goes.
class LeaveCondition {
 public:
  struct Hosts {
    bool is_first = false;     // the daemon where the hosts meet is this host's
    bool is_alone = false;     // the job has no other
    bool is_detached = false;  // no launcher tells the others
    bool all_know = false;     // the others have nothing more to hear
  };

  // Notes that nothing of the job remains on this host.
  void NoteEnd() { over_at_ = Clock::now(); }
  // Notes what is known now. Returns whether this host may leave; then it may from now on.
  bool Check(const JobTalk::News& news, const Hosts& hosts);

 private:
  Clock::time_point over_at_{}, all_know_since_{};
  bool may_leave_ = false;
};

}  // namespace graphd::ctl
