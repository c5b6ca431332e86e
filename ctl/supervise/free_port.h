// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "base/file.h"

// Finds an unused TCP port of this machine, at which the trainers meet (MASTER_PORT).

namespace graphd::ctl {

// Binds a port that the system chooses on `address`. Returns the socket, which keeps the port from
// being assigned to others, and the port number. Throws Error(kIo).
std::pair<UniqueFd, int> HoldFreePort(const std::string& address);

}  // namespace graphd::ctl
