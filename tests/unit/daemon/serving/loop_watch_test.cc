// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/loop_watch.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(LoopWatch, ALoopThatStopsIsStuckUntilItTurnsAgain) {
  std::atomic<uint64_t> first{0}, second{0};
  LoopWatch watch;
  watch.Add("data thread 0", first);
  watch.Add("data thread 1", second);
  Clock::time_point now = Clock::now();
  const auto check_after_a_second = [&](bool second_turns) {
    first++;
    if (second_turns) second++;
    now += LoopWatch::kPeriod;
    return watch.Check(now);
  };
  for (int i = 0; i < 30; i++) EXPECT_TRUE(check_after_a_second(true));
  for (int i = 0; i < LoopWatch::kLongest.count(); i++) EXPECT_TRUE(check_after_a_second(false));
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; i++) EXPECT_FALSE(check_after_a_second(false));
  EXPECT_TRUE(check_after_a_second(true));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("data thread 1 has not served its connections for 11 s"), std::string::npos)
      << log;
  EXPECT_EQ(log.find("data thread 0"), std::string::npos);
  EXPECT_NE(log.find("data thread 1 serves its connections again"), std::string::npos);
}

TEST(LoopWatch, AProcessIsAliveWhileChecksFindAllLoopsTurning) {
  std::atomic<uint64_t> beats{0};
  LoopWatch watch;
  watch.Add("data thread 0", beats);
  Clock::time_point now = Clock::now();
  EXPECT_TRUE(watch.IsAlive(now + std::chrono::hours(1)));  // it loads, and makes no checks
  const auto check_after_a_second = [&](bool turns) {
    if (turns) beats++;
    now += LoopWatch::kPeriod;
    watch.Check(now);
    return watch.IsAlive(now);
  };
  EXPECT_TRUE(check_after_a_second(true));
  EXPECT_FALSE(watch.IsAlive(now + LoopWatch::kDead));  // the main thread is stuck itself
  const int64_t seconds = (LoopWatch::kLongest + LoopWatch::kDead).count();
  ::testing::internal::CaptureStderr();
  for (int64_t i = 0; i < seconds - 1; i++) EXPECT_TRUE(check_after_a_second(false)) << i;
  check_after_a_second(false);
  EXPECT_FALSE(check_after_a_second(false));
  EXPECT_TRUE(check_after_a_second(true));
  ::testing::internal::GetCapturedStderr();
}

TEST(LoopWatch, AProcessThatWasStoppedIsNotStuck) {
  const std::atomic<uint64_t> beats{0};
  LoopWatch watch;
  watch.Add("data thread 0", beats);
  EXPECT_TRUE(watch.Check(Clock::now() + std::chrono::hours(1)));
}

}  // namespace
}  // namespace graphd
