// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "client/link/control.h"
#include "graphd/initialize.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/behind_proxy.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using Daemons = std::vector<std::vector<int>>;

TEST(Barrier, HoldsEveryTrainerUntilTheLastOneArrives) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  constexpr int kTrainers = 4, kRounds = 20;
  std::atomic<int> arrived{0}, wrong{0};
  std::vector<std::thread> trainers;
  for (int rank = 0; rank < kTrainers; rank++) {
    trainers.emplace_back([&, rank] {
      auto session = Initialize(served.TrainerOptions(Transport::kAuto, rank, kTrainers));
      for (int round = 0; round < kRounds; round++) {
        arrived++;
        session->Barrier();
        wrong += arrived < (round + 1) * kTrainers;
        session->Barrier();
      }
    });
  }
  for (auto& trainer : trainers) trainer.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Barrier, FailsWhenATrainerLeaves) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  auto stays = Initialize(served.TrainerOptions(Transport::kAuto, 0, 2));
  auto leaves = Initialize(served.TrainerOptions(Transport::kAuto, 1, 2));
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    leaves.reset();
  });
  try {
    stays->Barrier();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("trainer 1 has left"), std::string::npos);
  }
  leaver.join();
}

// Returns the error of a trainer that waits alone in a barrier.
std::string ErrorOfALoneTrainer(int rank, int world_size) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  Options options = served.TrainerOptions(Transport::kAuto, rank, world_size);
  options.timeout = std::chrono::seconds(3);
  auto session = Initialize(options);
  try {
    session->Barrier();
    return "the barrier was passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeadline);
    return error.what();
  }
}

TEST(Barrier, EndsAtItsDeadline) {
  EXPECT_THAT(ErrorOfALoneTrainer(0, 2), HasSubstr("barrier: rank 1 did not come within 3"));
}

TEST(Barrier, NamesTheFirstOfManyMissingRanks) {
  EXPECT_THAT(ErrorOfALoneTrainer(1, 12),
              HasSubstr("ranks 0, 2, 3, 4, 5, 6, 7, 8 and 3 more did not come"));
}

TEST(Barrier, EndsAtItsDeadlineInTheLargestWorld) {
  EXPECT_THAT(ErrorOfALoneTrainer(0, 65536),
              HasSubstr("ranks 1, 2, 3, 4, 5, 6, 7, 8 and 65527 more did not come"));
}

TEST(Barrier, BarriersOfDifferentJobsAreIndependent) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  Options a = served.TrainerOptions(Transport::kAuto, 0, 1), b = a;
  b.job_id = "another";
  auto one = Initialize(a), two = Initialize(b);
  one->Barrier();
  two->Barrier();
}

// A trainer whose link is cut as soon as a barrier is complete, and one that passes it.
class CutBarrier : public BehindProxy {
 protected:
  static void Enter(Session& session) {
    try {
      session.Barrier();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  // Lets both trainers enter the barrier, and cuts the answer to the first one.
  void CutTheAnswer() {
    std::thread first([this] { Enter(*cut_); });
    AwaitTrainer("waits for rank 1");
    proxy_.CutAtNextAnswer();
    const int changes = proxy_.changes();
    Enter(*whole_);
    first.join();
    EXPECT_EQ(proxy_.changes(), changes + 1);
  }
  // Checks that the other trainer does not pass the next barrier before the first one has come.
  void ExpectNextBarrierHolds() {
    std::thread second([this] { Enter(*whole_); });
    AwaitTrainer("waits for rank 0");
    Enter(*cut_);
    second.join();
  }
  // Waits until a trainer waits in the barrier.
  void AwaitTrainer(const std::string& state) {
    const auto begin = Clock::now();
    for (OldestRequests found = control_->Requests(1);
         found.total != 1 || found.requests.at(0).state != state; found = control_->Requests(1)) {
      ASSERT_LT(SecondsSince(begin), 60) << state;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::shared_ptr<Session> Join(Options options) {
    options.timeout = std::chrono::seconds(30);
    return Initialize(options);
  }

  std::unique_ptr<ControlClient> control_ =
      ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(60));
  std::shared_ptr<Session> cut_ = Join(ProxiedOptions(0, 2));
  std::shared_ptr<Session> whole_ = Join(served_.TrainerOptions(Transport::kAuto, 1, 2));
};

TEST_F(CutBarrier, IsNotEnteredTwice) {
  CutTheAnswer();
  ExpectNextBarrierHolds();
  CutTheAnswer();
  ExpectNextBarrierHolds();
}

}  // namespace
}  // namespace graphd::testing
