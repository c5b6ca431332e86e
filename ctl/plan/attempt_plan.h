// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"
#include "wire/job_record.h"

// The plan of a job's first host for another attempt: which hosts take part, and how many trainers
// they have. No function has side effects.

namespace graphd::ctl {

// The numbers of hosts of which nothing was heard while the daemon where they meet answered.
struct SilentHosts {
  std::vector<uint32_t> lost;   // for so long that they are lost
  std::vector<uint32_t> quiet;  // for seconds: a host that is back is heard more often
};

// Returns the hosts that can't take part in another attempt, of those that the job can go on
// without: they are silent, have left, or wait since their supervisor was started again. A host
// whose trainers have finished is not missed. `hosts` has what is known about each host.
std::vector<uint32_t> AbsentHosts(const std::vector<JobHost>& hosts, const JobSpec& job,
                                  const SilentHosts& silent);

// Returns the hosts that were cut off for a while, so that they ended their trainers, and that can
// take part in another attempt.
std::vector<uint32_t> HostsThatAreBack(const std::vector<JobHost>& hosts, const JobSpec& job,
                                       const SilentHosts& silent);

// Returns the numbers of trainers by slot after a user has asked for `num_trainers` in each (0: as
// they are). Slots without trainers keep none. Throws Error(kInvalid) for a number that can't be,
// and if something else numbers the trainers.
std::vector<uint32_t> WithTrainers(std::vector<uint32_t> trainers, const JobSpec& job,
                                   int num_trainers);

// Returns the first host's report for the next attempt, made from its last report. `wanted`: the
// number of trainers in each slot if no host is absent. `absent`: the hosts that take no part.
// `counts`: whether the attempt is a restart that --max_restarts limits. Throws Error(kUnavailable)
// if too few trainers are left.
JobHost PlanAttempt(JobHost first_host, const JobSpec& job, const std::vector<uint32_t>& wanted,
                    std::vector<uint32_t> absent, bool counts);

// Describes an attempt for users: its number of trainers, and how many restarts have counted.
std::string AttemptText(int num_trainers, uint64_t restarts, uint64_t max_restarts);

}  // namespace graphd::ctl
