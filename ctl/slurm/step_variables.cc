// SPDX-License-Identifier: Apache-2.0
#include "ctl/slurm/step_variables.h"

#include <unistd.h>

#include <algorithm>

namespace graphd::ctl {

bool ReachesSteps(std::string_view name) {
  if (!name.starts_with("SLURM_") && !name.starts_with("SRUN_")) return true;
  // The program srun needs these variables to find the job and its cluster.
  static constexpr std::string_view kNeeded[] = {
      "SLURM_CONF",         "SLURM_JOBID",           "SLURM_NODELIST", "SLURM_CLUSTERS",
      "SLURM_CLUSTER_NAME", "SLURM_WORKING_CLUSTER", "SLURM_JWT"};
  if (std::ranges::find(kNeeded, name) != std::end(kNeeded)) return true;
  // These variables describe the job, and trainers may read them. Of these, srun only reads the
  // number of nodes and the name, which change nothing.
  return name.starts_with("SLURM_JOB_") || name.starts_with("SLURM_ARRAY_") ||
         name.starts_with("SLURM_SUBMIT_") || name == "SLURM_RESTART_COUNT";
}

std::vector<std::string> VariablesWithheldFromSteps() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry; entry++) {
    const std::string_view text = *entry, name = text.substr(0, text.find('='));
    if (!ReachesSteps(name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace graphd::ctl
