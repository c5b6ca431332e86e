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

// The numbers of the hosts from which nothing was heard, although the daemon through which the
// hosts exchange reports answered.
struct SilentHosts {
  std::vector<uint32_t> lost;   // silent for so long that they are lost
  std::vector<uint32_t> quiet;  // silent for seconds; hosts that are back report more often
};

// Returns the hosts that can't take part in another attempt, because they are silent, have left, or
// wait since their supervisor was started again. Only hosts that the job can do without are
// returned. A host whose trainers have finished is not absent, even if it is silent. `hosts` has
// what is known about each host.
std::vector<uint32_t> AbsentHosts(const std::vector<JobHost>& hosts, const JobSpec& job,
                                  const SilentHosts& silent);

// Returns the hosts that have ended their trainers because they were cut off for a while, and that
// can take part in another attempt now.
std::vector<uint32_t> HostsThatAreBack(const std::vector<JobHost>& hosts, const JobSpec& job,
                                       const SilentHosts& silent);

// Returns the numbers of trainers by slot after a user has asked for `num_trainers` in each slot,
// or the unchanged numbers if `num_trainers` is 0. Slots without trainers stay without. Throws
// Error(kInvalid) for an impossible number, and if something else numbers the trainers.
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
