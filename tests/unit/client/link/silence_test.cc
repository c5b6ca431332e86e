// SPDX-License-Identifier: Apache-2.0
// Tests daemons that are connected but answer nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "client/link/daemon_link.h"
#include "graphd/dist_graph.h"
#include "graphd/initialize.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

constexpr std::chrono::milliseconds kTimeout{4000};
constexpr double kSlack = 3.5;  // the machine may be busy; less than the time of a second timeout

class Silence : public ::testing::TestWithParam<Transport> {
 protected:
  Options TrainerOptions() {
    Options options = served_.TrainerOptions(GetParam());
    options.timeout = kTimeout;
    return options;
  }
  // Calls f, which must fail because the daemon is silent, within the timeout.
  void ExpectFailsInTime(const std::function<void()>& f) {
    const auto begin = Clock::now();
    try {
      f();
      ADD_FAILURE() << "a stopped daemon has answered";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kDeadline || error.code() == ErrorCode::kUnavailable)
          << error.what();
    }
    EXPECT_LT(SecondsSince(begin), static_cast<double>(kTimeout.count()) / 1e3 + kSlack);
  }
  ServedGraphFixture served_{std::vector<std::vector<int>>{{0, 1}}};
};

TEST_P(Silence, CallsFailInTimeAndRecover) {
  const DistGraph graph(Initialize(TrainerOptions()));
  const DistTensor rows = graph.ndata("orig_id");
  const std::vector<int64_t> ids{0, 1, 2};
  rows.Read(ids);
  served_.daemon(0).Signal(SIGSTOP);
  const auto begin = Clock::now();
  // The first calls wait for an answer, those after the ping for a connection.
  while (SecondsSince(begin) < 10) ExpectFailsInTime([&] { rows.Read(ids); });
  served_.daemon(0).Signal(SIGCONT);
  const auto resumed = Clock::now();
  for (bool done = false; !done;) {
    ASSERT_LT(SecondsSince(resumed), 20);
    try {
      rows.Read(ids);
      done = true;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInvalid) << error.what();
    }
  }
  graph.Barrier();  // the session has its rank again
}

TEST_P(Silence, ADeadlineEndsTheConnectionsOnlyOfADaemonThatAnswersNothing) {
  auto thread = std::make_shared<RpcThread>();
  DaemonLink link(thread, BufferPool::Create(), std::make_shared<Traffic>(), TrainerOptions(),
                  DaemonsOf(ReadIpConfig(served_.ip_config())).at(0));
  link.Attach();
  const auto time_out = [&] {
    // A call that is never answered, whatever the daemon does.
    auto never = [](wire::Session::Client&, size_t) -> kj::Promise<void> { return kj::NEVER_DONE; };
    EXPECT_THROW(
        link.StartSteps(DaemonLink::Lane::kSmall, 1, never, std::chrono::milliseconds(50)).Wait(),
        Error);
  };
  const auto is_broken_after = [&](double seconds) {
    const auto begin = Clock::now();
    while (!link.is_broken() && SecondsSince(begin) < seconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return link.is_broken();
  };
  time_out();
  EXPECT_FALSE(is_broken_after(2.5));
  EXPECT_EQ(link.generation(), 1u);
  served_.daemon(0).Signal(SIGSTOP);
  // A call of great patience ends with the link.
  auto never = [](wire::Session::Client& session, size_t) -> kj::Promise<void> {
    return session.barrierRequest().send().ignoreResult();
  };
  auto patient = link.StartSteps(DaemonLink::Lane::kSmall, 1, never, std::chrono::hours(1));
  time_out();
  EXPECT_TRUE(is_broken_after(10));
  try {
    patient.Wait();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
  }
  served_.daemon(0).Signal(SIGCONT);
  const auto begin = Clock::now();
  while (link.is_broken() && SecondsSince(begin) < 20) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(link.is_broken());
}

INSTANTIATE_TEST_SUITE_P(Transports, Silence, ::testing::Values(Transport::kUnix, Transport::kTcp));

}  // namespace
}  // namespace graphd::testing
