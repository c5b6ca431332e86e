// SPDX-License-Identifier: Apache-2.0
#include "ctl/slurm/step_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace graphd::ctl {
namespace {

TEST(StepVariables, OptionsOfSlurmDoNotReachSteps) {
  for (const char* name :
       {"SLURM_GPUS", "SLURM_TIMELIMIT", "SLURM_CPU_BIND", "SLURM_CPUS_PER_TASK", "SLURM_LABELIO",
        "SLURM_STEP_ID", "SLURM_", "SRUN_CPUS_PER_TASK", "SRUN_EXPORT_ENV"}) {
    EXPECT_FALSE(ReachesSteps(name)) << name;
  }
}

TEST(StepVariables, TheJobAndTheUsersVariablesReachSteps) {
  for (const char* name :
       {"SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_CLUSTERS",
        "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURMD_NODENAME", "SLURM", "PATH", ""}) {
    EXPECT_TRUE(ReachesSteps(name)) << name;
  }
}

TEST(StepVariables, AreThoseOfThisProcess) {
  ::setenv("SLURM_GPUS", "8", 1);
  ::setenv("SLURM_JOB_ID", "7", 1);
  const auto names = VariablesWithheldFromSteps();
  EXPECT_THAT(names, ::testing::Contains("SLURM_GPUS"));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("SLURM_JOB_ID")));
  ::unsetenv("SLURM_GPUS");
  ::unsetenv("SLURM_JOB_ID");
}

}  // namespace
}  // namespace graphd::ctl
