// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "daemon/options.h"
#include "wire/control_messages.h"

namespace graphd {

// Returns the options that differ, in the order of graphd.conf(5), each with its place (file and
// line) in the configuration file that `read` comes from. `needs_restart` is false for an option
// that a running daemon can apply.
std::vector<ChangedOption> CompareOptions(const DaemonOptions& running, const DaemonOptions& read);

}  // namespace graphd
