// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/free_port.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

TEST(FreePort, IsNotOneThatConnectionsTake) {
  int low = 0, high = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low >> high;
  ASSERT_LT(high, 65'000) << "the machine leaves no port to this test";
  std::vector<std::string> addresses = {"127.0.0.1", "localhost"};
  std::string loopback;  // "00000000000000000000000000000001", unless the machine has no IPv6
  if (std::ifstream("/proc/net/if_inet6") >> loopback) addresses.push_back("::1");
  for (const std::string& address : addresses) {
    const auto [socket, port] = HoldFreePort(address);
    EXPECT_TRUE(port < low || port > high) << port;
  }
}

TEST(FreePort, IsHeldByOneCallerOnly) {
  std::vector<UniqueFd> held;
  std::set<int> ports;
  for (int i = 0; i < 300; i++) {
    auto [socket, port] = HoldFreePort("127.0.0.1");
    held.push_back(std::move(socket));
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), held.size());
}

TEST(FreePort, NeedsAnAddressOfThisHost) {
  EXPECT_THROW(HoldFreePort("no such host"), Error);
  EXPECT_THROW(HoldFreePort("192.0.2.1"), Error);
}

}  // namespace
}  // namespace graphd::ctl
