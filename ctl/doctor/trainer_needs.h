// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ctl/doctor/memory_needs.h"
#include "ctl/plan/trainer_hosts.h"

// Computes the memory that libgraphclient takes for a job's trainers. Memory that it maps from a
// daemon on the same machine is counted for the daemon. Models, batches and Python are not counted,
// because only the user knows them.

namespace graphd::ctl {

// The trainers of a job, as graphctl launch starts them.
struct TrainersPlan {
  int num_trainers = 1;            // for each line or host that gives no number
  std::vector<TrainerHost> hosts;  // the hosts that run trainers only
  uint64_t row_cache = 0;          // bytes on each machine; 0: none
  bool has_tensors = false;        // the job has tensors or embeddings, which trainers change
};

// Adds the needs of trainers to `hosts`, which MemoryNeeds has returned for the same config and
// lines. Appends the hosts that run trainers only. Throws Error(kInvalid) if ip_config has the
// address of one of these hosts, too.
void AddTrainers(const TrainersPlan& plan, const PartConfig& config,
                 const std::vector<HostLine>& lines, std::vector<HostNeeds>& hosts);

}  // namespace graphd::ctl
