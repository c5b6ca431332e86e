// SPDX-License-Identifier: Apache-2.0
#include "client/job_environment.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/fuzz/support/target.h"

// Reads the variables by which Slurm, torchrun and other launchers tell a process its place in a
// job. Each line of the input is the value of one variable, in the order below; a variable without
// a line, or with an empty one, is not set. A place that is read is one that exists.

namespace graphd::fuzz {
namespace {

constexpr std::array kVariables{"SLURM_JOB_ID",
                                "SLURM_STEP_ID",
                                "SLURM_STEP_NUM_TASKS",
                                "SLURM_PROCID",
                                "SLURM_LOCALID",
                                "SLURM_NODEID",
                                "SLURM_STEP_TASKS_PER_NODE",
                                "WORLD_SIZE",
                                "RANK",
                                "LOCAL_RANK",
                                "LOCAL_WORLD_SIZE",
                                "TORCHELASTIC_RUN_ID",
                                "MASTER_ADDR",
                                "MASTER_PORT",
                                "GRAPHD_JOB_ID"};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

void ReadInput(std::string_view input) {
  for (const char* name : kVariables) {
    const std::string value(input.substr(0, input.find('\n')));
    input.remove_prefix(std::min(input.size(), value.size() + 1));
    // A value ends at a byte of 0, as in every environment.
    if (value.empty()) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value.c_str(), 1);
    }
  }
  const JobEnvironment job = ReadJobEnvironment();
  Require(job.rank >= 0 && job.rank < job.world_size, "the rank is not one of the job's");
  Require(job.local_rank >= 0, "the local rank is below 0");
  Require(job.local_world_size >= 1, "a machine has no trainer");
  const bool by_slurm = job.job_id.starts_with("slurm-") && !::getenv("WORLD_SIZE");
  if (!by_slurm || ::getenv("GRAPHD_JOB_ID")) return;
  Require(job.local_rank < job.local_world_size, "the local rank is not one of the machine's");
  Require(job.local_world_size <= job.world_size, "a machine has more trainers than the job");
}

std::vector<std::string> Seeds() {
  return {"77\n3\n11\n9\n1\n2\n4(x2),3\n",
          "77\n3\n2\n1\n1\n0\n2\n",
          "77\n4294967290\n2\n",
          "77\n0\n1\n0\n0\n0\n1\n8\n5\n1\n2\nrun-4\n10.0.0.1\n29500\n",
          "\n\n\n\n\n\n\n2\n1\n1\n2\nnone\n127.0.0.1\n29500\n",
          "\n\n\n\n\n\n\n2\n1\n0\n1\n\n\n\nmine\n"};
}

}  // namespace graphd::fuzz
