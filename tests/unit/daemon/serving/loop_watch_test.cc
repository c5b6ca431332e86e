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

TEST(LoopWatch, AProcessThatWasStoppedIsNotStuck) {
  const std::atomic<uint64_t> beats{0};
  LoopWatch watch;
  watch.Add("data thread 0", beats);
  EXPECT_TRUE(watch.Check(Clock::now() + std::chrono::hours(1)));
}

}  // namespace
}  // namespace graphd
