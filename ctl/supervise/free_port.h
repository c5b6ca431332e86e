// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "base/file.h"

// A TCP port of this machine on which nobody listens, for the trainers' rendezvous.

namespace graphd::ctl {

// Binds a port that the system chooses on `address` and returns the socket, which keeps others from
// getting it, with its number. Throws Error(kIo).
std::pair<UniqueFd, int> HoldFreePort(const std::string& address);

}  // namespace graphd::ctl
