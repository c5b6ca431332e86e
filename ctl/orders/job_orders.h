// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// Carries out the order kFollowJob: sends the state of a job on this host (the frame "job") and the
// trainers' output, from the job's directory. Returns the exit code of the process; it does not
// throw.
int FollowJob(const HostOrder& order);

// Asks this host's supervisor of a job to stop it, and waits until it is over. Returns false if
// this user has no such job here, or it has ended.
bool StopJob(const std::string& job, uint16_t port, double grace);

}  // namespace graphd::ctl
