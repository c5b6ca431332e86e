// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns the numeric addresses of this machine's interfaces, without those that mean another
// machine elsewhere (loopback, link-local).
std::vector<std::string> OwnAddresses();

// Returns the numeric addresses of a name or an address, without loopback. A name of this machine
// that has no other, as a host's own name on many systems, has those of this machine's interfaces.
std::vector<std::string> LookUpAddress(const std::string& address);

}  // namespace graphd::ctl
