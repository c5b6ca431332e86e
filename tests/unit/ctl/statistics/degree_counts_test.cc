// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/degree_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;

DegreeSummary DegreesOf(const std::vector<uint64_t>& degrees) {
  DegreeCounts counts;
  for (const uint64_t degree : degrees) counts.Add(degree);
  return counts.Summary();
}

TEST(DegreeCounts, DescribeSmallAndLargeDegrees) {
  const DegreeSummary summary = DegreesOf({5, 0, 1, 70000, 3});
  EXPECT_EQ(summary.nodes, 5u);
  EXPECT_EQ(summary.zero, 1u);
  EXPECT_EQ(summary.min, 0u);
  EXPECT_EQ(summary.max, 70000u);
  EXPECT_DOUBLE_EQ(summary.median, 3);
  EXPECT_DOUBLE_EQ(summary.mean, 14001.8);
  ASSERT_EQ(summary.log2_histogram.size(), 18u);
  EXPECT_EQ(summary.log2_histogram[17], 1u);
  EXPECT_EQ(summary.log2_histogram[16], 0u);
}

TEST(DegreeCounts, TheMedianOfAnEvenNumberIsBetweenTwoDegrees) {
  EXPECT_DOUBLE_EQ(DegreesOf({1, 2, 4, 9000}).median, 3);
  EXPECT_DOUBLE_EQ(DegreesOf({2, 2, 2, 2}).median, 2);
  EXPECT_DOUBLE_EQ(DegreesOf({7}).median, 7);
}

TEST(DegreeCounts, BucketsBeginAtPowersOfTwo) {
  EXPECT_THAT(DegreesOf({0, 1, 2, 3, 4, 7, 8}).log2_histogram, ElementsAre(1, 1, 2, 2, 1));
}

TEST(DegreeCounts, NoNodesHaveNoDegrees) {
  const DegreeSummary summary = DegreesOf({});
  EXPECT_EQ(summary.nodes, 0u);
  EXPECT_TRUE(summary.log2_histogram.empty());
}

TEST(DegreeCounts, SumsAreThoseOfAllNodes) {
  DegreeCounts a, b;
  a.Add(1), a.Add(5000), b.Add(5000), b.Add(3);
  a.Add(b);
  EXPECT_EQ(a.Summary().nodes, 4u);
  EXPECT_DOUBLE_EQ(a.Summary().mean, 2501);
  EXPECT_DOUBLE_EQ(a.Summary().median, 2501.5);
}

}  // namespace
}  // namespace graphd::ctl
