// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/text_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/logging/log_text.h"

namespace graphd::ctl {
namespace {

std::vector<LogRecord> RecordsOf(std::string_view text) {
  TextRecords reader;
  std::vector<LogRecord> records;
  reader.Feed(text, records);
  if (auto last = reader.Finish()) records.push_back(*last);
  return records;
}

TEST(TextRecordsTest, WhatTheDaemonWritesIsReadBack) {
  constexpr int64_t kTime = 1'700'000'000'123'000;
  const auto records = RecordsOf(LogText(LogLevel::kWarning, "one\ntwo\n  three", kTime) +
                                 LogText(LogLevel::kInfo, "four", kTime + 5000));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].microseconds, kTime);
  EXPECT_EQ(records[0].level, "warning");
  EXPECT_EQ(records[0].text, "one\ntwo\n  three");
  EXPECT_EQ(records[1].microseconds, kTime + 5000);
  EXPECT_EQ(records[1].text, "four");
}

TEST(TextRecordsTest, TimesOfOtherZonesAreTheSameTimes) {
  const auto east = ReadLogLine("2023-11-15T03:43:20.123+05:30 info x");
  const auto west = ReadLogLine("2023-11-14T14:13:20.123-08:00 info x");
  ASSERT_TRUE(east && west);
  EXPECT_EQ(east->microseconds, 1'700'000'000'123'000);
  EXPECT_EQ(west->microseconds, 1'700'000'000'123'000);
}

TEST(TextRecordsTest, OtherLinesBelongToTheRecordBefore) {
  const auto records = RecordsOf(
      "the end of something\n"
      "2023-11-15T03:43:20.123+00:00 error the graph is damaged:\n"
      "13:05:01.002 info of an older graphd\n"
      "2023-11-15T03:43:20.123 error without a zone\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].text, "the end of something");
  EXPECT_EQ(records[0].level, "info");
  EXPECT_EQ(records[1].text,
            "the graph is damaged:\n13:05:01.002 info of an older graphd\n"
            "2023-11-15T03:43:20.123 error without a zone");
}

TEST(TextRecordsTest, ARecordHasABoundedLength) {
  std::string text = "2023-11-15T03:43:20.123+00:00 info x\n";
  for (int i = 0; i < 1000; i++) text += std::string(1000, 'x') + "\n";
  const auto records = RecordsOf(text);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].text.size(), LogRecord::kMaxText);
}

TEST(TextRecordsTest, TruncatedLinesAreNoRecords) {
  const std::string line = "2023-11-15T03:43:20.123+00:00 info";
  for (size_t size = 0; size < line.size(); size++) {
    EXPECT_FALSE(ReadLogLine(std::string_view(line).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace graphd::ctl
