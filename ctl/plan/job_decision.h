// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wire/job_record.h"

// The decision what a host of a job does next, which is made from the reports of all hosts. Every
// host decides for itself, by the same rules. Only the first host, through whose daemon the hosts
// exchange reports, begins another attempt, and decides which hosts take part and how many trainers
// they have. No function has side effects.

namespace graphd::ctl {

struct JobDecision {
  enum class Kind {
    kWait,
    kStart,    // start the trainers
    kRestart,  // end the trainers and begin the next attempt: as the first host, or after it
    kEnd,      // end the trainers and the job
  };
  Kind kind = Kind::kWait;
  int port = 0;      // kStart: MASTER_PORT
  int32_t code = 0;  // kEnd: the job's exit code, and why it ended (empty: all trainers succeeded)
  std::string reason;
  double ended_at = 0, grace = 0;
};

// Returns what host `own` does next. `hosts` has the last report of each host, in any order; hosts
// that have not reported yet are missing.
JobDecision Decide(const std::vector<JobHost>& hosts, uint32_t own, uint32_t num_hosts,
                   uint32_t max_restarts);

// Returns the last report of a host, or null.
const JobHost* FindHost(const std::vector<JobHost>& hosts, uint32_t number);

// Returns whether the plan of the first host leaves out a host.
bool IsAway(const JobHost& first_host, uint32_t number);

// Returns how often the trainers were started again after failures and losses, which --max_restarts
// limits.
uint32_t CountedRestarts(const JobHost& first_host);

// Returns the host where the job ended first (kOver), or null. It tells how the job has ended.
const JobHost* FirstToEnd(const std::vector<JobHost>& hosts);

// Adds the reports in `news` to `known`, which has at most one report per host; a report with a
// larger sequence number replaces a report with a smaller one. Returns whether anything changed.
bool MergeHosts(std::vector<JobHost>& known, const std::vector<JobHost>& news);

}  // namespace graphd::ctl
