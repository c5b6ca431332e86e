// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// The place of this process in its job, as set by the program that started the process.
struct JobEnvironment {
  std::string job_id;  // empty: the environment names no job
  int rank = 0, world_size = 1;
  int local_rank = 0, local_world_size = 1;
};

// Reads the environment. The rank and the sizes come from RANK, WORLD_SIZE, LOCAL_RANK and
// LOCAL_WORLD_SIZE, which graphctl launch, torchrun and most launchers of PyTorch set. If these are
// not set, they come from the Slurm step that srun has started. The job id is the first of these
// that the environment provides:
//
//   GRAPHD_JOB_ID
//   torchrun-<id>       torchrun's rendezvous id (TORCHELASTIC_RUN_ID)
//   torch-<host:port>   PyTorch's MASTER_ADDR and MASTER_PORT, if there are several trainers; "@"
//                       and the machine's name follow if the address is loopback
//   slurm-<job>.<step>  the step of srun, if it has several tasks (SLURM_JOB_ID, SLURM_STEP_ID)
//
// Trainers of one launch get the same id, so that they share barriers, synchronous steps and
// tensors. Throws Error(kInvalid), which names the variable and its value.
JobEnvironment ReadJobEnvironment();

}  // namespace graphd
