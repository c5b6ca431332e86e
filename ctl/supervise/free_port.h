// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>

#include "base/file.h"

// Finds an unused TCP port of this machine, at which the trainers meet (MASTER_PORT).

namespace graphd::ctl {

// Binds a free port of `address`. Returns the socket, which keeps the port from being assigned to
// others, and the port number. The port is above those that the system assigns to connections (up
// to 60,999 by default) if there are free ones, because trainers listen only a while after the
// caller has closed the socket, and any connection that begins meanwhile could take it. Throws
// Error(kIo), or Error(kNotFound) if the address can't be resolved.
std::pair<UniqueFd, int> HoldFreePort(const std::string& address);

}  // namespace graphd::ctl
