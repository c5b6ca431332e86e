// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/child_link.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <new>

namespace graphd::ctl {
namespace {

// Waits for the end of the only link of a queue. Returns its event.
HostEvent AwaitEnd(EventQueue& queue) {
  while (true) {
    pollfd ready{queue.fd(), POLLIN, 0};
    if (::poll(&ready, 1, 30000) != 1) return {0, HostEvent::Kind::kClosed, {}, "none", {}};
    for (HostEvent& event : queue.TakeAll()) {
      if (event.kind == HostEvent::Kind::kClosed) return std::move(event);
    }
  }
}

// Children end while they are written to, as they do in graphctl, which ignores SIGPIPE.
class ChildLinkTest : public ::testing::Test {
 protected:
  void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }
};

SupervisorCommand Relay(const std::string& program) {
  return {.words = {"sh", "-c", program}, .relay = "relay"};
}

TEST_F(ChildLinkTest, OnlyTheEndOfTheJobEndsARelayThatHasNotAnswered) {
  EventQueue queue;
  const auto link = OpenChildLink(0, Relay("read order; sleep 0.2"), queue);
  link->Send(R"({"words":["echo","end"]})");
  EXPECT_EQ(AwaitEnd(queue).text, "");
  const auto other = OpenChildLink(0, Relay("read order; exec sleep 60"), queue);
  other->Send(R"({"words":["true"]})");
  other->End();
  EXPECT_EQ(AwaitEnd(queue).text, "its relay was killed by signal 15");
}

TEST_F(ChildLinkTest, ARelayThatHasAnsweredReadsTheEnd) {
  EventQueue queue;
  const auto link =
      OpenChildLink(0, Relay(R"(echo '{"t":"hello"}'; read end; exit "${#end}")"), queue);
  pollfd ready{queue.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 30000), 1);
  ASSERT_EQ(queue.TakeAll().size(), 1u);
  link->End();
  const HostEvent end = AwaitEnd(queue);
  EXPECT_EQ(end.text, "its relay exited with code 11");  // the length of the line
  EXPECT_EQ(end.code, ErrorCode::kUnavailable);
}

// The program does not read before its order has been sent.
TEST_F(ChildLinkTest, AnOrderThatIsLargerThanAPipeDoesNotBlock) {
  EventQueue queue;
  const auto link =
      OpenChildLink(0, Relay("sleep 2; read order; test ${#order} = 500000 || kill -9 $$"), queue);
  const auto start = std::chrono::steady_clock::now();
  link->Send(std::string(500000, 'x'));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1900));
  EXPECT_EQ(AwaitEnd(queue).text, "");
}

TEST_F(ChildLinkTest, AnyExceptionWhileOutputIsReadEndsTheLink) {
  EventQueue queue;
  // The second process would write for ever, and so wait for a reader, when nobody reads any more.
  for (const char* script : {"echo noise >&2", "yes noise >&2"}) {
    SupervisorCommand command = Relay(script);
    command.is_useless = [](std::string_view) -> bool { throw std::bad_alloc(); };
    const auto link = OpenChildLink(0, command, queue);
    EXPECT_EQ(AwaitEnd(queue).text, "not enough memory");
  }
}

}  // namespace
}  // namespace graphd::ctl
