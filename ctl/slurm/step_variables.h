// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace graphd::ctl {

// Returns whether a variable of the environment of a Slurm job is passed to srun and its steps.
// Those variables of Slurm for which this is false are options for sbatch, salloc, another step or
// the user's shell. With them, srun might give our steps fewer resources or another time limit, or
// change the form of their output.
bool ReachesSteps(std::string_view name);

// Returns the names of the variables of this process for which ReachesSteps is false.
std::vector<std::string> VariablesWithheldFromSteps();

}  // namespace graphd::ctl
