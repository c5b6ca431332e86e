// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// The place of this process in its job, as the program that has started it says.
struct JobEnvironment {
  std::string job_id;  // empty: the environment names no job
  int rank = 0, world_size = 1;
  int local_rank = 0, local_world_size = 1;
};

// Reads the environment. The rank and the sizes are RANK, WORLD_SIZE, LOCAL_RANK and
// LOCAL_WORLD_SIZE, which graphctl launch, torchrun and most launchers of PyTorch set, or else
// those of the Slurm step that srun has started. The job id is the first of:
//
//   GRAPHD_JOB_ID
//   torchrun-<id>      of torchrun with an id of its rendezvous (TORCHELASTIC_RUN_ID)
//   torch-<host:port>  if there are several trainers, of PyTorch's MASTER_ADDR and MASTER_PORT;
//   with
//                      "@" and the machine's name if the address is loopback
//   slurm-<job>.<step> of several tasks of srun (SLURM_JOB_ID, SLURM_STEP_ID)
//
// Trainers of one launch get the same id, so that their barriers, synchronous steps and tensors
// meet. Throws Error(kInvalid), which names the variable and its value.
JobEnvironment ReadJobEnvironment();

}  // namespace graphd
