// SPDX-License-Identifier: Apache-2.0
// Tests that a connection may end while the daemon handles its calls.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/support/call_script.h"
#include "tests/support/daemon_services.h"

namespace graphd::testing {
namespace {

// The rounds of the event loop in which the calls of a script are begun and answered.
constexpr int kRounds = 200;

std::string AttachAndCall(const std::string& job) {
  using S = wire::Session;
  CallScript script;
  script.Attach(job);
  script.CallSession<S::SliceParams>(2, [](S::SliceParams::Builder params) {
    params.setName("orig_id");
    params.setCount(3);
  });
  script.CallSession<S::ListTensorsParams>(18, [](auto) {});
  script.Status();
  return script.TakeBytes();
}

TEST(ServedConnection, MayEndInAnyRoundInWhichItsCallsAreHandled) {
  DaemonServices services;
  int attached = 0, unattached = 0;
  for (int rounds = 0; rounds < kRounds; rounds++) {
    // Its destructor checks that nothing outlives the connection.
    DaemonServices::Input daemon(services);
    const UniqueFd client = daemon.Connect(DaemonServices::PeerOfRole(Role::kReader, true));
    const std::string bytes = AttachAndCall("a" + daemon.unique());
    ASSERT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    const bool is_attached = daemon.EndConnection(0, rounds);
    (is_attached ? attached : unattached)++;
  }
  EXPECT_GT(unattached, 0);
  EXPECT_GT(attached, 0);
}

}  // namespace
}  // namespace graphd::testing
