// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "daemon/options.h"
#include "graphd/error.h"

namespace graphd {

// Checks the options, and the headers of the files they name, without loading or serving. Returns
// an error for each problem, which begins with the file and the line if a configuration file sets
// the option, and with the option.
std::vector<Error> FindProblems(const DaemonOptions& options);

// Checks the options, and the headers of the files they name, without loading or serving. Prints a
// line for each problem, with file, line and option where a configuration file sets it, and a
// summary if there is none. Returns the exit code: that of the first problem, or 0.
int CheckConfig(const DaemonOptions& options);

}  // namespace graphd
