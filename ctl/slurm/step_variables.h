// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace graphd::ctl {

// Returns whether a variable of a job's environment may reach srun and its steps. All others of
// Slurm are options of sbatch, salloc, another step or the user's shell, by which srun would give
// our steps fewer resources, another time limit, or their output another form.
bool ReachesSteps(std::string_view name);

// Returns the names of the variables of this process that may not reach steps.
std::vector<std::string> VariablesWithheldFromSteps();

}  // namespace graphd::ctl
