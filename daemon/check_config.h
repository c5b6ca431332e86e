// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "daemon/options.h"
#include "graphd/error.h"

namespace graphd {

// Checks the options, and the headers of the files they name, without loading or serving. Returns
// an error for each problem. Its text begins with the name of the option, preceded by file and line
// if a configuration file sets the option.
std::vector<Error> FindProblems(const DaemonOptions& options);

// Does the same checks and prints a line for each problem, which begins like the errors of
// FindProblems, or a summary if there is no problem. Returns the exit code of the first problem, or
// 0.
int CheckConfig(const DaemonOptions& options);

}  // namespace graphd
