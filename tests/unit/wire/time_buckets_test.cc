// SPDX-License-Identifier: Apache-2.0
#include "wire/time_buckets.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "graphd/error.h"

namespace graphd {
namespace {

std::vector<std::pair<uint64_t, uint64_t>> Pairs(const TimeBuckets& times) {
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (const TimeBucket& bucket : times.buckets) {
    pairs.emplace_back(bucket.nanoseconds, bucket.count);
  }
  return pairs;
}

using Expected = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(TimeBuckets, DifferencesLeaveOutWhatWasThereBefore) {
  const TimeBuckets before{1.5, {{10, 3}, {30, 1}}};
  const TimeBuckets after{4, {{10, 3}, {20, 2}, {30, 5}, {40, 1}}};
  const TimeBuckets between = after.Since(before);
  EXPECT_EQ(Pairs(between), (Expected{{20, 2}, {30, 4}, {40, 1}}));
  EXPECT_EQ(between.seconds, 2.5);
  EXPECT_TRUE(after.Since(after).buckets.empty());
  // A daemon that has started again has fewer: nothing is negative.
  EXPECT_EQ(Pairs(before.Since(after)), Expected{});
  EXPECT_EQ(before.Since(after).seconds, 0);
}

TEST(TimeBuckets, SumsHaveTheTimesOfBoth) {
  TimeBuckets sum{1, {{10, 3}, {30, 1}}};
  sum.Add({2, {{5, 1}, {10, 1}, {50, 7}}});
  EXPECT_EQ(Pairs(sum), (Expected{{5, 1}, {10, 4}, {30, 1}, {50, 7}}));
  EXPECT_EQ(sum.seconds, 3);
  EXPECT_EQ(sum.count(), 13U);
}

TEST(TimeBuckets, QuantilesAreTheBoundsOfBuckets) {
  const TimeBuckets times{0, {{1'000'000, 98}, {2'000'000, 1}, {500'000'000, 1}}};
  EXPECT_DOUBLE_EQ(times.Quantile(0), 0.001);
  EXPECT_DOUBLE_EQ(times.Quantile(0.5), 0.001);
  EXPECT_DOUBLE_EQ(times.Quantile(0.99), 0.002);
  EXPECT_DOUBLE_EQ(times.Quantile(0.999), 0.5);
  EXPECT_DOUBLE_EQ(times.Quantile(1), 0.5);
  EXPECT_EQ(TimeBuckets{}.Quantile(0.5), 0);
}

TEST(TimeBuckets, ComeThroughAMessageUnchanged) {
  capnp::MallocMessageBuilder message;
  const TimeBuckets sent{2.5, {{10, 3}, {30, 1}}};
  WriteTimes(sent, message.initRoot<wire::Times>());
  const TimeBuckets received = ReadTimes(message.getRoot<wire::Times>().asReader());
  EXPECT_EQ(Pairs(received), Pairs(sent));
  EXPECT_EQ(received.seconds, 2.5);
}

TEST(TimeBuckets, BoundsThatDoNotAscendAreRefused) {
  capnp::MallocMessageBuilder message;
  WriteTimes({1, {{30, 3}, {30, 1}}}, message.initRoot<wire::Times>());
  EXPECT_THROW(ReadTimes(message.getRoot<wire::Times>().asReader()), Error);
}

}  // namespace
}  // namespace graphd
