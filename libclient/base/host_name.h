// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// Returns the name of this machine, as gethostname(2) knows it; empty if it can't be read.
std::string HostName();

}  // namespace graphd
