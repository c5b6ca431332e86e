// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// Checks of addresses and ports, without a server.

namespace graphd::ctl {

// Returns why no daemon could listen at the address now; empty if one could. A program that listens
// there already is named if this user may see it.
std::string WhyNotListen(const std::string& address, uint16_t port);

// Connects to all addresses, each "host:port", at the same time. Returns "host:port: reason" for
// each that can't be reached. If a connection is refused, the host counts as reached: usually,
// nothing listens there yet. A firewall that rejects the connection looks the same.
std::vector<std::string> FindUnreachable(const std::vector<std::string>& addresses);

}  // namespace graphd::ctl
