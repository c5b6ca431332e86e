// SPDX-License-Identifier: Apache-2.0
// Tests which connections a real daemon closes to make room for others.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "tests/support/become_user.h"
#include "tests/support/call_script.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

constexpr size_t kConnections = 8;
constexpr uint16_t kControl = 4;  // the number of the method in graphd.capnp

class GivingWay : public ::testing::Test {
 protected:
  explicit GivingWay(const std::vector<std::string>& arguments = {"--max_connections",
                                                                  std::to_string(kConnections)})
      : served_(HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)), {{0}}, 1, arguments) {}

  // Sends messages, and returns whether the daemon answers within 20 s and does not close the
  // connection.
  static bool IsAnswered(const UniqueFd& fd, CallScript& script) {
    const std::string bytes = script.TakeBytes();
    if (::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return false;
    pollfd wait{fd.get(), POLLIN, 0};
    char answer[4096];
    return ::poll(&wait, 1, 20'000) == 1 && ::recv(fd.get(), answer, sizeof answer, 0) > 0;
  }
  // Returns a connection of root whose call was answered; an empty one if it was refused.
  UniqueFd ConnectAsRoot(bool controls) const {
    UniqueFd fd = ConnectUnix(served_.socket_path(0), 20'000);
    CallScript script;
    if (controls) {
      script.CallDaemon<wire::Daemon::ControlParams>(
          kControl, [](auto params) { WriteHello(params.initHello()); });
    } else {
      script.Status();
    }
    return IsAnswered(fd, script) ? std::move(fd) : UniqueFd();
  }
  // Takes all connections. Begins again while those that have started the daemon are not closed.
  std::vector<UniqueFd> TakeAll(bool control) const {
    std::vector<UniqueFd> all;
    const auto start = Clock::now();
    while (all.size() < kConnections && SecondsSince(start) < 20) {
      if (UniqueFd fd = ConnectAsRoot(control)) all.push_back(std::move(fd));
    }
    EXPECT_EQ(all.size(), kConnections);
    return all;
  }
  // Returns whether the daemon answers another user, if only by an error.
  bool AnswersNobody() const {
    EXPECT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
    const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_.ip_config())).at(0);
    bool is_answered = false;
    std::thread([&] {
      ASSERT_TRUE(BecomeUser(kNobody));
      const UniqueFd fd = ConnectTcp(daemon.address, daemon.port, 20'000).fd;
      CallScript script;
      script.Status();
      is_answered = IsAnswered(fd, script);
    }).join();
    return is_answered;
  }
  // Returns whether the daemon has closed the connection, or does so within `seconds`.
  static bool IsClosed(const UniqueFd& fd, int seconds) {
    char bytes[4096];
    for (;;) {
      const ssize_t got = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
      pollfd wait{fd.get(), POLLIN, 0};
      if (got < 0 && ::poll(&wait, 1, seconds * 1000) == 0) return false;
    }
  }

  ServedGraphFixture served_;
};

TEST_F(GivingWay, TheOldestConnectionIsClosedForAnotherUser) {
  const auto all = TakeAll(/*control=*/false);
  ASSERT_FALSE(ConnectAsRoot(/*controls=*/false)) << "root has most connections";
  ASSERT_TRUE(AnswersNobody());
  EXPECT_TRUE(IsClosed(all.front(), 20));
  EXPECT_FALSE(IsClosed(all.back(), 0));
}

TEST_F(GivingWay, ConnectionsOfOperatorsStay) {
  const auto all = TakeAll(/*control=*/true);
  EXPECT_FALSE(AnswersNobody());
  for (const UniqueFd& each : all) EXPECT_FALSE(IsClosed(each, 0));
}

class FewDescriptors : public GivingWay {
 protected:
  FewDescriptors() : GivingWay(Few()) {}
  ~FewDescriptors() override { ::unsetenv("GRAPHD_TEST_DESCRIPTORS"); }

  static std::vector<std::string> Few() {
    ::setenv("GRAPHD_TEST_DESCRIPTORS", "400", 1);
    return {};
  }
};

TEST_F(FewDescriptors, AConnectionIsAlsoClosedWhenDescriptorsHaveRunOut) {
  std::vector<UniqueFd> all;
  while (UniqueFd fd = ConnectAsRoot(/*controls=*/false)) all.push_back(std::move(fd));
  EXPECT_LT(all.size(), 400U);
  ASSERT_TRUE(AnswersNobody());
  EXPECT_TRUE(IsClosed(all.front(), 20));
}

}  // namespace
}  // namespace graphd::testing
