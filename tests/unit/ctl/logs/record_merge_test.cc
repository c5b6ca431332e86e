// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/record_merge.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

LogRecord At(int64_t microseconds) {
  LogRecord record;
  record.microseconds = microseconds;
  return record;
}

// Returns what is due as "source:time".
std::vector<std::string> TakeAll(RecordMerge& merge) {
  std::vector<std::string> taken;
  while (const auto due = merge.Take()) {
    taken.push_back(StrCat(due->source, ":", due->record.microseconds));
  }
  return taken;
}

using Taken = std::vector<std::string>;

TEST(RecordMergeTest, ARecordWaitsForEarlierOnesOfOtherSources) {
  RecordMerge merge(2);
  merge.Add(0, At(10));
  merge.Add(0, At(30));
  EXPECT_EQ(TakeAll(merge), Taken());
  merge.Add(1, At(20));
  EXPECT_EQ(TakeAll(merge), (Taken{"0:10", "1:20"}));
  EXPECT_TRUE(merge.HasRecords(0));
  EXPECT_FALSE(merge.HasRecords(1));
  merge.Add(1, At(40));
  EXPECT_EQ(TakeAll(merge), (Taken{"0:30"}));
}

TEST(RecordMergeTest, ASourceThatHasCaughtUpHoldsNothingUp) {
  RecordMerge merge(3);
  merge.Add(0, At(10));
  merge.SetCaughtUp(1, 10);
  EXPECT_EQ(TakeAll(merge), Taken());
  merge.SetCaughtUp(2, 9);
  EXPECT_EQ(TakeAll(merge), Taken());
  merge.SetCaughtUp(2, 11);
  EXPECT_EQ(TakeAll(merge), (Taken{"0:10"}));
}

TEST(RecordMergeTest, ASourceThatHasEndedHoldsNothingUpAndLosesNothing) {
  RecordMerge merge(2);
  merge.Add(0, At(10));
  merge.Add(1, At(5));
  merge.End(1);
  EXPECT_EQ(TakeAll(merge), (Taken{"1:5", "0:10"}));
}

TEST(RecordMergeTest, RecordsOfASourceKeepTheirOrderIfItsClockIsSetBack) {
  RecordMerge merge(2);
  for (const int64_t time : {100, 50, 60}) merge.Add(0, At(time));
  merge.End(1);
  EXPECT_EQ(TakeAll(merge), (Taken{"0:100", "0:50", "0:60"}));
}

TEST(RecordMergeTest, WhoeverDoesNotWantToWaitGetsTheEarliest) {
  RecordMerge merge(3);
  merge.Add(0, At(30));
  merge.Add(1, At(20));
  EXPECT_EQ(TakeAll(merge), Taken());  // the third one is silent
  ASSERT_TRUE(merge.HasRecords());
  EXPECT_EQ(merge.TakeEarliest()->record.microseconds, 20);
  EXPECT_EQ(merge.TakeEarliest()->record.microseconds, 30);
  EXPECT_FALSE(merge.TakeEarliest());
}

}  // namespace
}  // namespace graphd::ctl
