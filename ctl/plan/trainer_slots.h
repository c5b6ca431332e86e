// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ctl/plan/host_order.h"

// Divides a job's ranks among its hosts. For every attempt, each host computes this by itself from
// the numbers of trainers in the job's slots (TrainerSlot).

namespace graphd::ctl {

// The largest number of trainers in a slot.
inline constexpr uint32_t kMaxTrainersPerSlot = 4096;

// Returns the numbers of trainers at the launch, by slot.
std::vector<uint32_t> TrainersAtLaunch(const JobSpec& job);

// Returns `trainers` with 0 for the slots of hosts that are away.
std::vector<uint32_t> WithoutHosts(std::vector<uint32_t> trainers, const JobSpec& job,
                                   const std::vector<uint32_t>& away);

// Returns the number of trainers in all slots, which is the job's world size.
int64_t NumTrainers(const std::vector<uint32_t>& trainers);

// Returns whether a host serves no partition and runs trainers only, so that a job can go on
// without it.
bool OnlyComputes(const JobSpec& job, uint32_t host);

// Sets the trainers of a host in its order, and the members that depend on them, such as the ranks,
// the world size and the host of rank 0. `trainers` has the number of trainers for each slot of the
// job. Throws Error(kInvalid) if it has another number of slots than the job, a number above
// kMaxTrainersPerSlot, or no trainers at all.
void AssignTrainers(const std::vector<uint32_t>& trainers, HostOrder& order);

// Decodes the order that the first host of a job has kept, for another host that joins the job.
// Throws Error(kInvalid) if it is not an order, and Error(kCorrupt) if it is that of another job.
// The result can only run the job, whatever action the text names.
HostOrder DecodeJobOrder(const std::string& text, const std::string& job);

// Returns the HostOrder by which a host that runs trainers only joins a running job. `first_host`:
// the order of the job's first host.
HostOrder JoinOrder(HostOrder first_host, const TrainerSlot& slot);

}  // namespace graphd::ctl
