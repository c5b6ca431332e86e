// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/clock.h"
#include "ctl/supervise/job_talk.h"

namespace graphd::ctl {

// The condition under which a host whose part of a job is over may leave the job. The daemon
// through which the hosts exchange reports may end with the job. The other hosts must learn of the
// job's end before that.
class LeaveCondition {
 public:
  struct Hosts {
    bool is_first = false;     // the hosts exchange reports through this host's daemon
    bool is_alone = false;     // the job has no other host
    bool is_detached = false;  // no launcher tells the other hosts about the end
    bool all_know = false;     // the other hosts know that the job has ended
  };

  // Records that nothing of the job remains on this host.
  void NoteEnd() { over_at_ = Clock::now(); }
  // Takes the latest news into account. Returns whether this host may leave. Once it has returned
  // true, it always does.
  bool Check(const JobTalk::News& news, const Hosts& hosts);

 private:
  Clock::time_point over_at_{}, all_know_since_{};
  bool may_leave_ = false;
};

}  // namespace graphd::ctl
