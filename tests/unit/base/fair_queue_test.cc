// SPDX-License-Identifier: Apache-2.0
#include "base/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace graphd {
namespace {

using Queue = FairQueue<int>;

// Serves one item, and returns its job.
uint64_t Serve(Queue& queue, const std::map<uint64_t, double>& costs) {
  const uint64_t job = queue.Next();
  queue.End(queue.Begin(job, false), costs.at(job));
  return job;
}

TEST(FairQueue, JobsGetEqualServiceWhateverTheirItemsCost) {
  Queue queue;
  const std::map<uint64_t, double> costs = {{1, 1.0}, {2, 10.0}};
  for (int i = 0; i < 1000; i++) {
    queue.Put(1, i);
    queue.Put(2, i);
  }
  std::map<uint64_t, double> served;
  for (int i = 0; i < 550; i++) {
    const uint64_t job = Serve(queue, costs);
    served[job] += costs.at(job);
  }
  EXPECT_NEAR(served[1], served[2], 20);
}

TEST(FairQueue, JobsGetServiceByTheirWeights) {
  Queue queue;
  const std::map<uint64_t, double> costs = {{1, 2.0}, {2, 3.0}, {3, 1.0}};
  for (int i = 0; i < 1000; i++) {
    queue.Put({1, 1}, i);
    queue.Put({2, 2}, i);
    queue.Put({3, 0.5}, i);
  }
  std::map<uint64_t, double> served;
  for (int i = 0; i < 500; i++) {
    const uint64_t job = Serve(queue, costs);
    served[job] += costs.at(job);
  }
  EXPECT_NEAR(served[2] / served[1], 2, 0.05);
  EXPECT_NEAR(served[1] / served[3], 2, 0.05);
}

TEST(FairQueue, AJobLeavesOneOfTheThreadsToTheOthers) {
  Queue queue;
  for (int i = 0; i < 5; i++) queue.Put(1, i);
  EXPECT_EQ(queue.NextThatLeavesOne(1), 1u);
  const auto first = queue.Begin(1, false), second = queue.Begin(1, false);
  EXPECT_EQ(queue.NextThatLeavesOne(4), 1u);
  EXPECT_EQ(queue.NextThatLeavesOne(3), Queue::kNone);
  queue.Put(2, 0);
  EXPECT_EQ(queue.NextThatLeavesOne(3), 2u);
  queue.End(first, 1);
  queue.End(queue.Begin(2, false), 1);
  EXPECT_EQ(queue.NextThatLeavesOne(3), 1u);
  queue.End(second, 1);
}

TEST(FairQueue, ANewWeightHoldsFromTheNextItemOn) {
  Queue queue;
  const std::map<uint64_t, double> costs = {{1, 1.0}, {2, 1.0}};
  for (int i = 0; i < 100; i++) queue.Put({1, 1}, i);
  for (int i = 0; i < 100; i++) queue.Put({2, 1}, i);
  queue.Put({2, 3}, 100);
  int of_second = 0;
  for (int i = 0; i < 80; i++) of_second += Serve(queue, costs) == 2 ? 1 : 0;
  EXPECT_NEAR(of_second, 60, 2);
}

TEST(FairQueue, ItemsOfAJobKeepTheirOrder) {
  Queue queue;
  for (int i = 0; i < 5; i++) queue.Put(1, i);
  for (int i = 0; i < 5; i++) {
    EXPECT_EQ(queue.Front(1), i);
    Serve(queue, {{1, 1.0}});
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.Next(), Queue::kNone);
}

TEST(FairQueue, AJobThatComesLaterIsServedAtOnceButGetsNoArrears) {
  Queue queue;
  const std::map<uint64_t, double> costs = {{1, 1.0}, {2, 1.0}};
  for (int i = 0; i < 1000; i++) queue.Put(1, i);
  for (int i = 0; i < 500; i++) Serve(queue, costs);
  for (int i = 0; i < 500; i++) queue.Put(2, i);
  int of_second = 0;
  for (int i = 0; i < 100; i++) of_second += Serve(queue, costs) == 2 ? 1 : 0;
  EXPECT_NEAR(of_second, 50, 3);
}

TEST(FairQueue, JobsThatCameOnceAreNotRememberedWithoutBound) {
  Queue queue;
  size_t most = 0;
  queue.Put(0, 0);
  for (uint64_t job = 1; job < 20'000; job++) {
    queue.Put(job, 0);
    queue.End(queue.Begin(job, false), 1);
    most = std::max(most, queue.num_remembered());
  }
  EXPECT_LE(most, 2 * Queue::kMostRemembered + 2);
  EXPECT_EQ(queue.Next(), 0U);
}

TEST(FairQueue, JobsThatMayNotRunArePassedOver) {
  Queue queue;
  queue.Put(1, 0);
  queue.Put(2, 0);
  EXPECT_EQ(queue.Next([](uint64_t job) { return job == 2; }), 2U);
  EXPECT_EQ(queue.Next([](uint64_t) { return false; }), Queue::kNone);
  const Queue::Turn turn = queue.Begin(2, false);
  EXPECT_EQ(queue.num_active(), 2U);
  queue.End(turn, 1);
  EXPECT_EQ(queue.num_active(), 1U);
}

}  // namespace
}  // namespace graphd
