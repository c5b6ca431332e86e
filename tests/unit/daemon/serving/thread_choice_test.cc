// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/thread_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace graphd {
namespace {

TEST(ThreadChoice, TheBusyOneOfEachPairOfConnectionsGoesToAnyThread) {
  for (const size_t threads : {1, 2, 3, 4}) {
    ThreadChoice choice(threads);
    std::vector<int> busy(threads), idle(threads);
    for (int i = 0; i < 48; i++) {
      busy[choice.Open()]++;
      idle[choice.Open()]++;
    }
    for (const std::vector<int>& each : {busy, idle}) {
      EXPECT_LE(std::ranges::max(each) - std::ranges::min(each), 2) << threads << " threads";
    }
  }
}

TEST(ThreadChoice, ConnectionsThatAreClosedAtOnceDoNotCount) {
  ThreadChoice choice(4);
  std::vector<int> open(4);
  for (int i = 0; i < 40; i++) {
    open[choice.Open()]++;
    choice.Close(choice.Open());
  }
  EXPECT_EQ(open, std::vector<int>(4, 10));
}

TEST(ThreadChoice, AThreadWhoseConnectionsHaveEndedGetsTheNextOnes) {
  ThreadChoice choice(3);
  for (int i = 0; i < 9; i++) choice.Open();
  for (int i = 0; i < 3; i++) choice.Close(1);
  for (int i = 0; i < 3; i++) EXPECT_EQ(choice.Open(), 1U);
}

}  // namespace
}  // namespace graphd
