// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace graphd::ctl {

// Returns whether a variable of a job's environment may reach srun and its steps. Slurm's other
// variables are withheld: they are options for sbatch, salloc, another step or the user's shell,
// and because of them srun might give our steps fewer resources or another time limit, or change
// the form of their output.
bool ReachesSteps(std::string_view name);

// Returns the names of the variables of this process that may not reach steps.
std::vector<std::string> VariablesWithheldFromSteps();

}  // namespace graphd::ctl
