// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/requests_in_flight.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/strings.h"

namespace graphd {
namespace {

class RequestsInFlightTest : public ::testing::Test {
 protected:
  std::shared_ptr<ClientRequests> Client(const std::string& job, int rank,
                                         JobRole role = JobRole::kTrainer) {
    JobMember member;
    member.job_id = job;
    member.role = role;
    member.rank = rank;
    member.world_size = 8;
    const Peer peer{true, 4711, 1000, {}, "unix"};
    members_.push_back(registry_.Join(member, peer));
    return requests_.Add(*members_.back(), peer);
  }

  JobRegistry registry_{false, [] {}};
  std::vector<std::unique_ptr<JobRegistry::Membership>> members_;
  RequestsInFlight requests_;
};

TEST_F(RequestsInFlightTest, TheOldestOfAllClientsComeFirst) {
  const auto first = Client("a", 1), second = Client("b", 2);
  std::vector<RequestPtr> running;
  for (int i = 0; i < 50; i++) {
    running.push_back((i % 2 == 0 ? first : second)->Begin(i < 3 ? "hop" : "push"));
  }
  running[1]->SetState(RequestState::kWaitsForStore);
  const OldestRequests found = requests_.Oldest(3);
  EXPECT_EQ(found.total, 50U);
  ASSERT_EQ(found.requests.size(), 3U);
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(found.requests[i].operation, "hop");
    EXPECT_EQ(found.requests[i].job_id, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(found.requests[i].rank, i % 2 == 0 ? 1 : 2);
    EXPECT_EQ(found.requests[i].pid, 4711);
    EXPECT_EQ(found.requests[i].peer, "unix");
  }
  EXPECT_EQ(found.requests[1].state, TextOf(RequestState::kWaitsForStore));
  EXPECT_EQ(found.requests[0].state, TextOf(RequestState::kRuns));
  running.clear();
  EXPECT_EQ(requests_.Oldest(3).total, 0U);
}

TEST_F(RequestsInFlightTest, WorkForAClientThatHasGoneIsStillShown) {
  auto client = Client("a", 0, JobRole::kLauncher);
  RequestPtr request = client->Begin("barrier");
  client = nullptr;
  members_.clear();
  const OldestRequests found = requests_.Oldest(10);
  ASSERT_EQ(found.total, 1U);
  EXPECT_EQ(found.requests[0].rank, -1);
  request = nullptr;
  EXPECT_EQ(requests_.Oldest(10).total, 0U);
}

TEST_F(RequestsInFlightTest, TellHowLongTheyHaveWaitedInQueues) {
  using std::chrono::milliseconds;
  const auto pause = [] { std::this_thread::sleep_for(milliseconds(5)); };
  const RequestPtr request = Client("a", 1)->Begin("push");
  pause();
  EXPECT_EQ(request->WaitedUntil(Clock::now()), Clock::duration(0));
  request->SetState(RequestState::kWaitsForThread);
  pause();
  EXPECT_GE(request->WaitedUntil(Clock::now()), milliseconds(5));  // it still waits
  for (int slice = 0; slice < 3; slice++) request->SetState(RequestState::kRuns);
  const Clock::duration once = request->WaitedUntil(Clock::now());
  EXPECT_GE(once, milliseconds(5));
  pause();
  request->SetState(RequestState::kWaitsForStore);
  pause();
  EXPECT_EQ(request->WaitedUntil(Clock::now()), once);
  request->SetState(RequestState::kWaitsForTurn);
  pause();
  request->SetState(RequestState::kWaitsForStore);
  const Clock::time_point now = Clock::now();
  EXPECT_GE(request->WaitedUntil(now), once + milliseconds(5));
  EXPECT_LE(request->WaitedUntil(now), now - request->since() - milliseconds(15));
}

TEST_F(RequestsInFlightTest, ThoseThatWaitForOtherTrainersAreNotUnderWay) {
  const auto client = Client("job", 0), other = Client("other", 1);
  EXPECT_EQ(requests_.NumUnderWay(), 0U);
  RequestPtr runs = client->Begin("sample"), waits = other->Begin("push");
  EXPECT_EQ(requests_.NumUnderWay(), 2U);
  waits->SetState(RequestState::kWaitsForTrainers);
  EXPECT_EQ(requests_.NumUnderWay(), 1U);
  waits->SetState(RequestState::kWaitsToHold);
  EXPECT_EQ(requests_.NumUnderWay(), 1U);
  waits->SetState(RequestState::kWaitsForStore);
  EXPECT_EQ(requests_.NumUnderWay(), 2U);
  runs = waits = nullptr;
  EXPECT_EQ(requests_.NumUnderWay(), 0U);
}

TEST_F(RequestsInFlightTest, NewOnesAreRefusedOnceTheDaemonStops) {
  const auto client = Client("job", 0);
  const RequestPtr begun = client->Begin("sample");
  requests_.Refuse();
  for (const auto& each : {client, Client("late", 0)}) {
    try {
      each->Begin("sample");
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    }
  }
  EXPECT_EQ(requests_.NumUnderWay(), 1U);
}

TEST_F(RequestsInFlightTest, CanBeListedWhileThreadsWork) {
  const auto client = Client("a", 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; i++) client->Begin("hop")->SetState(RequestState::kWaitsForThread);
    });
  }
  for (int i = 0; i < 200; i++) EXPECT_LE(requests_.Oldest(2).total, 3U);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(requests_.Oldest(2).total, 0U);
}

}  // namespace
}  // namespace graphd
