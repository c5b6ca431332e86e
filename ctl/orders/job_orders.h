// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// Carries out the order kTellJobOrder: sends the order of the job's first host in the frame
// "order", by which another host may join. Returns the exit code.
int TellJobOrder(const HostOrder& order);

// Carries out the order kRestartJob: asks the supervisor of the job's first host to start the
// trainers again, and waits until they run. Answers with the frame "restarted": how many trainers
// there are, and the hosts that take no part. Returns the exit code.
int RestartJob(const HostOrder& order);

// Carries out the order kFollowJob: sends the state of a job on this host (the frame "job") and the
// trainers' output, from the job's directory. Returns the exit code of the process; it does not
// throw.
int FollowJob(const HostOrder& order);

// Returns whether this user's job on this host has ended or will end by itself, so that nobody has
// to stop it. Requires: StopJob has returned false for the job. Only a job that its launcher leads
// can still be running then.
bool HasEnded(const std::string& job, uint16_t port);

// Asks this host's supervisor of a job to stop the job, and waits until the job is over. Returns
// false if this user has no such job here, or if the job has ended or its launcher leads it.
bool StopJob(const std::string& job, uint16_t port, double grace);

}  // namespace graphd::ctl
