// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns the numeric addresses of this machine's interfaces, without those that mean another
// machine elsewhere (loopback, link-local).
std::vector<std::string> OwnAddresses();

// Returns the numeric addresses of a name or an address. One that belongs to this machine has all
// of this machine's, because a host's own name is a loopback address there on many systems.
std::vector<std::string> LookUpAddress(const std::string& address);

}  // namespace graphd::ctl
