// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/log_record.h"

#include <gtest/gtest.h>

#include <string>

#include "ctl/logs/since.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

TEST(LogRecordTest, ARecordCrossesToAnotherHostUnchanged) {
  LogRecord record;
  record.microseconds = 1'700'000'000'123'456;
  record.level = "warning";
  record.text = "two\nlines, \"quoted\", \xc3\xa4";
  record.job = "1120-4711";
  record.peer = "pid 17, uid 1000";
  record.op = "attach";
  const std::string line = EncodeRecord(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto read = DecodeRecord(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->microseconds, record.microseconds);
  EXPECT_EQ(read->level, record.level);
  EXPECT_EQ(read->text, record.text);
  EXPECT_EQ(read->job, record.job);
  EXPECT_EQ(read->peer, record.peer);
  EXPECT_EQ(read->op, record.op);
}

TEST(LogRecordTest, TextThatIsNoRecordIsNone) {
  for (const char* line : {"", "{", "[]", "7", "{}", R"({"us":"7"})", R"({"us":1.5})", "null"}) {
    EXPECT_FALSE(DecodeRecord(line)) << line;
  }
}

TEST(LogRecordTest, ALineOfTheJournalHasItsFields) {
  const auto read = ReadJournalLine(
      R"({"__CURSOR":"s=1;i=2","__REALTIME_TIMESTAMP":"1700000000123456","MESSAGE":"job a has left",)"
      R"("PRIORITY":"6","SYSLOG_IDENTIFIER":"graphd","GRAPHD_JOB":"a","GRAPHD_OP":"leave"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cursor, "s=1;i=2");
  EXPECT_EQ(read->record.microseconds, 1'700'000'000'123'456);
  EXPECT_EQ(read->record.level, "info");
  EXPECT_EQ(read->record.text, "job a has left");
  EXPECT_EQ(read->record.job, "a");
  EXPECT_EQ(read->record.op, "leave");
  EXPECT_EQ(read->record.program, "");
}

TEST(LogRecordTest, SystemdIsNamedAsTheProgram) {
  const auto read = ReadJournalLine(
      R"({"MESSAGE":"Watchdog timeout","PRIORITY":"3","SYSLOG_IDENTIFIER":"systemd"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->record.program, "systemd");
  EXPECT_EQ(read->record.level, "error");
}

TEST(LogRecordTest, ValuesOfTheJournalMayBeBytesOrLists) {
  const auto bytes = ReadJournalLine(R"({"MESSAGE":[104,105,27],"PRIORITY":["4","6"]})");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->record.text, "hi\x1b");
  EXPECT_EQ(bytes->record.level, "warning");
  for (const char* line :
       {R"({"PRIORITY":"6"})", R"({"MESSAGE":"x","PRIORITY":"66"})", R"({"MESSAGE":null})",
        R"({"MESSAGE":[[],{}]})", R"({"MESSAGE":{},"__REALTIME_TIMESTAMP":[]})", "[", "7"}) {
    const auto read = ReadJournalLine(line);
    if (read) {
      EXPECT_EQ(read->record.level, "info") << line;
    }
  }
}

TEST(LogRecordTest, ALongTextOfTheJournalIsCut) {
  const auto read = ReadJournalLine(R"({"MESSAGE":")" + std::string(1 << 20, 'x') + R"("})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->record.text.size(), LogRecord::kMaxText);
}

TEST(SinceTest, ATextIsATimeOrHowLongAgo) {
  constexpr double kNow = 1'700'000'000;
  EXPECT_EQ(ParseSince("30s", kNow), kNow - 30);
  EXPECT_EQ(ParseSince("15min", kNow), kNow - 900);
  EXPECT_EQ(ParseSince("1.5h", kNow), kNow - 5400);
  EXPECT_EQ(ParseSince("2d", kNow), kNow - 2 * 86400);
  const double midnight = ParseSince("00:00", kNow);
  EXPECT_LE(midnight, kNow);
  EXPECT_GT(midnight, kNow - 90000);
  EXPECT_EQ(ParseSince("01:02:03", kNow), midnight + 3723);
  EXPECT_EQ(ParseSince("2023-11-20 10:30", kNow), ParseSince("2023-11-20", kNow) + 10.5 * 3600);
  EXPECT_EQ(ParseSince("2023-11-20T10:30:00", kNow), ParseSince("2023-11-20 10:30", kNow));
  for (const char* text :
       {"", "yesterday", "5", "-5s", "5 parsecs", "25:00", "2023-13-01", "nans", "13:05x"}) {
    EXPECT_THROW(ParseSince(text, kNow), Error) << text;
  }
}

}  // namespace
}  // namespace graphd::ctl
