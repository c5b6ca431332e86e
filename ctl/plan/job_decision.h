// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wire/job_record.h"

// Decides what a host of a job does next, from the reports of all hosts. Every host decides for
// itself, by the same rules. An attempt is one start of the job's trainers. Only the first host,
// through whose daemon the hosts exchange reports, begins another attempt, and decides which hosts
// take part in it and how many trainers they have. No function has side effects.

namespace graphd::ctl {

struct JobDecision {
  enum class Kind {
    kWait,
    kStart,    // start the trainers
    kRestart,  // end the trainers; the first host begins another attempt, others follow
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

// Returns whether the current attempt, as the first host has planned it, runs without this host.
bool IsAway(const JobHost& first_host, uint32_t number);

// Returns how often the trainers were started again because a trainer has failed or a host was
// lost. --max_restarts limits this number.
uint32_t CountedRestarts(const JobHost& first_host);

// Returns the host where the job ended first (its phase is kOver), or null. Its report has the
// outcome of the job.
const JobHost* FirstToEnd(const std::vector<JobHost>& hosts);

// Adds the reports in `news` to `known`, which has at most one report per host; a report with a
// larger sequence number replaces a report with a smaller one. Returns whether anything changed.
bool MergeHosts(std::vector<JobHost>& known, const std::vector<JobHost>& news);

}  // namespace graphd::ctl
