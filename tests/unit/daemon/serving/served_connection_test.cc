// SPDX-License-Identifier: Apache-2.0
// Tests that a connection may end while the daemon handles its calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "tests/support/call_script.h"
#include "tests/support/daemon_services.h"
#include "wire/control.capnp.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

// Sends the bytes, lets the services handle them, and returns their answers.
std::string AnswersTo(const std::string& bytes, const UniqueFd& client, DaemonServices& services) {
  EXPECT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  services.RunUntil(100, [] { return false; });
  std::string answers(1 << 14, '\0');
  const ssize_t got = ::recv(client.get(), answers.data(), answers.size(), MSG_DONTWAIT);
  EXPECT_GT(got, 0);
  answers.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return answers;
}

TEST(ServedConnection, DoesNotAttachWhenItGivesWay) {
  DaemonServices services;
  DaemonServices::Input daemon(services);
  const UniqueFd client =
      daemon.Connect(DaemonServices::PeerOfRole(Role::kReader, true), /*may_stay=*/false);
  EXPECT_THAT(AnswersTo(AttachAndCall("a" + daemon.unique()), client, services),
              HasSubstr("[graphd:unavailable] this graphd closes the connection to make room"));
}

// `graphctl server switch` calls nothing else for as long as a graph is loaded.
TEST(ServedConnection, IsNotIdleWhileItsClientCallsACapability) {
  constexpr uint16_t kControl = 4, kRequests = 4;
  DaemonServices services;
  DaemonServices::Input daemon(services);
  const UniqueFd client = daemon.Connect(DaemonServices::PeerOfRole(Role::kOperator, true));
  CallScript script;
  script.CallDaemon<wire::Daemon::ControlParams>(
      kControl, [](auto params) { WriteHello(params.initHello()); });
  const uint32_t control = script.last_question();
  EXPECT_THAT(AnswersTo(script.TakeBytes(), client, services), Not(HasSubstr("[graphd:")));
  const auto asked = Clock::now();
  ::usleep(1'500'000);
  daemon.info().max_idle_seconds = 1;
  EXPECT_TRUE(daemon.IsIdle(0));
  // The limit is shorter than the time since `asked`, so that only later calls count. If this
  // process stops for a second, a call is too old as well, so there are several attempts.
  bool idle = true;
  for (int attempt = 0; idle && attempt < 20; attempt++) {
    daemon.info().max_idle_seconds = SecondsSince(asked) - 0.5;
    script.CallAnswer<wire::Control::RequestsParams>(capnp::typeId<wire::Control>(), kRequests,
                                                     control, [](auto) {});
    EXPECT_THAT(AnswersTo(script.TakeBytes(), client, services), Not(HasSubstr("[graphd:")));
    idle = daemon.IsIdle(0);
  }
  EXPECT_FALSE(idle);
}

// A trainer that waits for another one, which never comes.
class WaitingTrainer : public ::testing::Test {
 protected:
  using S = wire::Session;

  WaitingTrainer() : daemon_(services_) {
    script_.Attach("a" + daemon_.unique(), /*wants_segments=*/false, /*world_size=*/2);
  }
  void EnterBarrier() {
    script_.CallSession<S::BarrierParams>(3, [](auto params) { params.setTimeout(0); });
  }
  void StageAStep() {
    const uint8_t payload[DaemonServices::kRowBytes] = {};
    script_.CallSession<S::StageParams>(14, [&](S::StageParams::Builder params) {
      params.setTable(DaemonServices::kStandingTables - 1);  // partition 0 has the node
      params.initRule().setKind(1);
      params.setStep(1);
      params.setIds(capnp::Data::Reader(kId, sizeof kId));
      params.setPayload(capnp::Data::Reader(payload, sizeof payload));
    });
  }
  // Calls what the last call returns, which it never does.
  void CallItsResult() {
    script_.CallAnswer<S::ListTensorsParams>(capnp::typeId<S>(), 18, script_.last_question(),
                                             [](auto) {});
  }
  // Sends the calls and then disconnects. The destructor of `daemon_` checks that the session ends.
  void SendAndDisconnect() {
    const UniqueFd client = daemon_.Connect(DaemonServices::PeerOfRole(Role::kWriter, true));
    EXPECT_THAT(AnswersTo(script_.TakeBytes(), client, services_), Not(HasSubstr("[graphd:")));
  }

  DaemonServices services_;
  DaemonServices::Input daemon_;
  CallScript script_;

 private:
  static constexpr uint8_t kId[] = {1, 0, 0, 0};
};

TEST_F(WaitingTrainer, LeavesABarrierWhenItsConnectionEnds) {
  EnterBarrier();
  SendAndDisconnect();
}

TEST_F(WaitingTrainer, LeavesABarrierWhoseResultItHasCalled) {
  EnterBarrier();
  CallItsResult();
  SendAndDisconnect();
}

TEST_F(WaitingTrainer, LeavesABarrierWhoseQuestionItHasUsedAgain) {
  EnterBarrier();
  script_.UseQuestion(script_.last_question());
  script_.Status();
  SendAndDisconnect();
}

TEST_F(WaitingTrainer, LeavesAStepWhoseResultItHasCalled) {
  StageAStep();
  CallItsResult();
  SendAndDisconnect();
}

}  // namespace
}  // namespace graphd::testing
