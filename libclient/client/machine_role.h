// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "graphd/initialize.h"
#include "wire/ip_config.h"

namespace graphd {

// Returns the role that a text names, such as the value of GRAPHD_ROLE; kHost for an empty one.
// Throws Error(kInvalid), which names `what` and the text, for any other word.
MachineRole ParseMachineRole(const std::string& text, const std::string& what);

// Throws Error(kInvalid) if the options say that this machine is a host of ip_config, and none of
// its addresses belongs to this machine. Accepts names that can't be resolved: connecting to them
// fails, and says so.
void CheckMachineRole(const Options& options, const std::vector<DaemonAddress>& daemons);

}  // namespace graphd
