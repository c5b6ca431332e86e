// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"
#include "wire/job_record.h"

// Functions by which a job's first host plans another attempt (another start of the job's
// trainers): which hosts take part, and how many trainers they have. No function has side effects.

namespace graphd::ctl {

// The numbers of the hosts from which nothing was heard, although the daemon through which the
// hosts exchange reports answered.
struct SilentHosts {
  std::vector<uint32_t> lost;   // silent for the host timeout, so that they are lost
  std::vector<uint32_t> quiet;  // silent for some seconds, and therefore not back
};

// Returns the numbers of the hosts that can't take part in another attempt, because they are
// silent, have left the job, or only wait for `graphctl restart` since their supervisor was started
// again. Only hosts that run trainers only are returned, because the job can do without them. A
// host whose trainers have finished is not absent, even if it is silent. `hosts` has the last
// report of each host.
std::vector<uint32_t> AbsentHosts(const std::vector<JobHost>& hosts, const JobSpec& job,
                                  const SilentHosts& silent);

// Returns the numbers of the hosts that have ended their trainers because they were cut off from
// the other hosts, and that report again, so that they can take part in another attempt.
std::vector<uint32_t> HostsThatAreBack(const std::vector<JobHost>& hosts, const JobSpec& job,
                                       const SilentHosts& silent);

// Returns the numbers of trainers by slot after a user has asked for `num_trainers` in each slot,
// or the unchanged numbers if `num_trainers` is 0. Slots without trainers get none. Throws
// Error(kInvalid) for an impossible number, and if there are no slots because torchrun numbers the
// trainers.
std::vector<uint32_t> WithTrainers(std::vector<uint32_t> trainers, const JobSpec& job,
                                   int num_trainers);

// Returns the report with which the first host begins the next attempt. `first_host`: its last
// report. `wanted`: the number of trainers in each slot if no host is absent. `absent`: the hosts
// that take no part. `counts`: whether the attempt is a restart that --max_restarts limits. Throws
// Error(kUnavailable) if too few trainers are left.
JobHost PlanAttempt(JobHost first_host, const JobSpec& job, const std::vector<uint32_t>& wanted,
                    std::vector<uint32_t> absent, bool counts);

// Describes an attempt for users: its number of trainers, and how many restarts have counted.
std::string AttemptText(int num_trainers, uint64_t restarts, uint64_t max_restarts);

}  // namespace graphd::ctl
