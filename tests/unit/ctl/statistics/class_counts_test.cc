// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/class_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ClassCounts, CountSmallLargeAndNegativeValues) {
  ClassCounts counts, others;
  for (const int64_t value : {3, 3, -7, 0}) counts.Add(value);
  for (const int64_t value : {int64_t{3}, INT64_MAX, int64_t{-7}}) others.Add(value);
  counts.Add(others);
  EXPECT_THAT(counts.counts(),
              ElementsAre(Pair(-7, 2), Pair(0, 1), Pair(3, 3), Pair(INT64_MAX, 1)));
}

TEST(ClassCounts, AsManyValuesAsTheLimitAreCounted) {
  ClassCounts counts;
  for (int64_t i = 0; i < static_cast<int64_t>(ClassCounts::kMost); i++) counts.Add(i * 2);
  EXPECT_FALSE(counts.too_many());
  EXPECT_EQ(counts.counts().size(), ClassCounts::kMost);
  counts.Add(1);
  EXPECT_TRUE(counts.too_many());
  ClassCounts few;
  few.Add(1);
  few.Add(counts);
  EXPECT_TRUE(few.too_many());
}

}  // namespace
}  // namespace graphd::ctl
