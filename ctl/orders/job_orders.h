// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// Carries out the order kTellJobOrder: sends the frame "order" with the HostOrder of the job's
// first host, from which graphctl makes the HostOrder by which another host joins the job. Returns
// the exit code.
int TellJobOrder(const HostOrder& order);

// Carries out the order kRestartJob: asks the supervisor of the job's first host to start the
// trainers again, and waits until they run. Answers with the frame "restarted", which has the
// number of trainers and the hosts that take no part. Returns the exit code.
int RestartJob(const HostOrder& order);

// Carries out the order kFollowJob: sends the state of a job on this host (the frame "job") and the
// trainers' output, from the job's directory. Returns the exit code of the process; it does not
// throw.
int FollowJob(const HostOrder& order);

// Returns whether this user's job on this host has ended or will end by itself, so that nobody has
// to stop it. Requires: StopJob has returned false for the job. After that, only a job that
// `graphctl launch` leads from its start to its end can still be running.
bool HasEnded(const std::string& job, uint16_t port);

// Asks this host's supervisor of a job to stop the job, and waits until the job is over. Returns
// false if this user has no such job here, if the job has ended, or if `graphctl launch` leads it,
// so that its supervisors don't decide about its end.
bool StopJob(const std::string& job, uint16_t port, double grace);

}  // namespace graphd::ctl
