// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ctl/plan/host_order.h"

// The division of a job's ranks among its hosts, which each host computes by itself for every
// attempt from the numbers of trainers in the job's slots.

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

// Returns whether a host only computes and serves no partition, so that a job can go on without it.
bool OnlyComputes(const JobSpec& job, uint32_t host);

// Gives a host its trainers: `trainers` has the number for each slot. Sets what depends on these
// numbers: ranks, the size of the world, and the host of rank 0. Throws Error(kInvalid) for another
// number of slots, more than kMaxTrainersPerSlot or no trainers at all.
void AssignTrainers(const std::vector<uint32_t>& trainers, HostOrder& order);

// Returns the order by which a host that only computes joins a job that runs, from the order of the
// job's first host.
HostOrder JoinOrder(HostOrder first_host, const TrainerSlot& slot);

}  // namespace graphd::ctl
