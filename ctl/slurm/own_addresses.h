// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns the numeric addresses of this machine's interfaces, except loopback and link-local
// addresses, by which other machines can't reach this machine.
std::vector<std::string> OwnAddresses();

// Returns the numeric addresses of a name or an address, except loopback and link-local addresses.
// If none is left and the name is one of this machine, returns OwnAddresses(): on many systems, a
// host's own name has only loopback addresses.
std::vector<std::string> LookUpAddress(const std::string& address);

}  // namespace graphd::ctl
