// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns the numeric addresses of this machine's interfaces, without loopback and link-local
// addresses, which do not lead to this machine from elsewhere.
std::vector<std::string> OwnAddresses();

// Returns the numeric addresses of a name or an address, without loopback. If a name of this
// machine has only loopback addresses, as a host's own name has on many systems, returns the
// addresses of this machine's interfaces.
std::vector<std::string> LookUpAddress(const std::string& address);

}  // namespace graphd::ctl
