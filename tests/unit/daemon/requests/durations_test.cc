// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/durations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace graphd {
namespace {

using std::chrono::nanoseconds;

TEST(Durations, EveryTimeIsInTheBucketWhoseBoundIsTheNextOne) {
  ASSERT_EQ(Durations::BoundOf(0), 1000U);
  ASSERT_EQ(Durations::BoundOf(Durations::kBuckets - 1), 10'000'000'000'000U);
  for (size_t bucket = 0; bucket < Durations::kBuckets; bucket++) {
    const uint64_t bound = Durations::BoundOf(bucket);
    EXPECT_EQ(Durations::BucketOf(bound), bucket) << bound;
    if (bucket + 1 == Durations::kBuckets) break;
    EXPECT_EQ(Durations::BucketOf(bound + 1), bucket + 1) << bound;
    const auto next = static_cast<double>(Durations::BoundOf(bucket + 1));
    EXPECT_LE(next / static_cast<double>(bound), 1.1 + 1e-9) << bound;
  }
  EXPECT_EQ(Durations::BucketOf(0), 0U);
  EXPECT_EQ(Durations::BucketOf(UINT64_MAX), Durations::kBuckets - 1);
}

TEST(Durations, QuantilesAreThoseOfTheTimesOrAtMostATenthLarger) {
  std::mt19937_64 random(7);
  const auto expect_near = [](std::vector<double> times) {
    Durations durations;
    double sum = 0;
    for (double& time : times) {
      const nanoseconds whole(std::llround(time * 1e9));
      time = static_cast<double>(whole.count()) * 1e-9;
      sum += time;
      durations.Add(whole);
    }
    std::sort(times.begin(), times.end());
    const TimeBuckets read = durations.Read();
    EXPECT_EQ(read.count(), times.size());
    EXPECT_NEAR(read.seconds, sum, sum * 1e-9);
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank =
          static_cast<size_t>(std::max(1.0, std::ceil(q * static_cast<double>(times.size()))));
      const double exact = times[rank - 1];
      EXPECT_GE(read.Quantile(q), exact * (1 - 1e-9)) << q;
      EXPECT_LE(read.Quantile(q), exact * 1.1 * (1 + 1e-9)) << q;
    }
  };
  std::vector<double> times(20'000);
  std::lognormal_distribution<double> typical(std::log(0.0004), 1.5);
  for (double& time : times) time = 1e-6 + typical(random);
  expect_near(times);
  std::uniform_real_distribution<double> exponents(-6, 3.9);
  for (double& time : times) time = std::pow(10, exponents(random));
  expect_near(times);
  expect_near({0.5});
  expect_near({0.000002, 4000});
}

TEST(Durations, TimesThatAreOutOfRangeCountInTheOutermostBuckets) {
  Durations durations;
  durations.Add(nanoseconds(-5));
  durations.Add(nanoseconds(0));
  durations.Add(std::chrono::hours(24 * 365 * 100));
  const TimeBuckets read = durations.Read();
  ASSERT_EQ(read.buckets.size(), 2U);
  EXPECT_EQ(read.buckets[0].count, 2U);
  EXPECT_EQ(read.buckets[1].count, 1U);
  EXPECT_EQ(read.Quantile(1), 10'000);
}

TEST(Durations, NoTimeIsLostWhenThreadsAddAtOnce) {
  Durations durations;
  constexpr int kThreads = 4, kTimes = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&durations, t] {
      for (int i = 0; i < kTimes; i++) {
        durations.Add(std::chrono::microseconds(i % 100 == 0 ? 9000 : 100 + t));
      }
    });
  }
  uint64_t before = 0;
  for (int i = 0; i < 100; i++) {  // reads meanwhile never go back
    const uint64_t count = durations.Read().count();
    EXPECT_GE(count, before);
    before = count;
  }
  for (std::thread& thread : threads) thread.join();
  const TimeBuckets read = durations.Read();
  EXPECT_EQ(read.count(), uint64_t{kThreads} * kTimes);
  EXPECT_DOUBLE_EQ(read.Quantile(0.99), 0.00011);
  EXPECT_DOUBLE_EQ(read.Quantile(0.995), 0.009);
}

}  // namespace
}  // namespace graphd
