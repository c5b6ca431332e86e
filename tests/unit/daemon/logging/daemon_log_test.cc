// SPDX-License-Identifier: Apache-2.0
#include "daemon/logging/daemon_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <regex>
#include <string>

#include "base/file.h"
#include "base/strings.h"
#include "daemon/logging/log_text.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

class DaemonLogTest : public ::testing::Test {
 protected:
  std::string Text() const { return ReadTextFile(path_); }
  size_t NumLines() const {
    const std::string text = Text();
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  testing::ScratchDirectory directory_;
  const std::string path_ = directory_.path() + "/log";
  const UniqueFd file_ = OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND);
};

TEST_F(DaemonLogTest, ALineHasItsTimeWithTheZoneAndItsLevel) {
  DaemonLog log("products", file_.get());
  log.Write(LogLevel::kWarning, "the disk is full", {});
  const std::regex line(
      R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d warning the disk is full\n)");
  EXPECT_TRUE(std::regex_match(Text(), line)) << Text();
}

TEST_F(DaemonLogTest, TheTimeIsThatOfTheZone) {
  const char* const zone = ::getenv("TZ");
  const std::string before = zone ? zone : "";
  ::setenv("TZ", "XYZ-05:30", 1);
  ::tzset();
  const std::string line = LogText(LogLevel::kInfo, "x", 1'700'000'000'123'456);
  zone ? ::setenv("TZ", before.c_str(), 1) : ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(line, "2023-11-15T03:43:20.123+05:30 info x\n");
}

TEST_F(DaemonLogTest, NoTextLooksLikeAnotherLineOfTheLog) {
  const std::string line =
      LogText(LogLevel::kInfo, "job a\n2026-01-01T00:00:00.000+00:00 error forged\x1b[2J", 0);
  EXPECT_EQ(line.find("\n    2026-01-01"), line.find('\n'));
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("forged\\x1b[2J\n"), std::string::npos) << line;
}

TEST_F(DaemonLogTest, WhatIsLeftOutOfAFloodIsTold) {
  DaemonLog log("products", file_.get());
  for (int i = 0; i < 1000; i++) {
    log.Write(LogLevel::kInfo, StrCat("job ", i, " has attached"), {.job = "a", .op = "attach"});
  }
  EXPECT_EQ(NumLines(), 60u);
  log.TellLeftOut();
  EXPECT_EQ(NumLines(), 61u);
  EXPECT_NE(Text().find("warning 940 lines about 'attach' were left out of this log"),
            std::string::npos)
      << Text();
  log.TellLeftOut();  // nothing new
  EXPECT_EQ(NumLines(), 61u);
}

TEST_F(DaemonLogTest, TheEndTellsWhatWasLeftOut) {
  {
    DaemonLog log("products", file_.get());
    for (int i = 0; i < 61; i++) log.Write(LogLevel::kInfo, "x", {.op = "connect"});
  }
  EXPECT_NE(Text().find("warning 1 line about 'connect' was left out"), std::string::npos)
      << Text();
}

TEST_F(DaemonLogTest, ALongTextIsCut) {
  DaemonLog log("products", file_.get());
  log.Write(LogLevel::kInfo, std::string(1 << 20, 'x'), {});
  EXPECT_LT(Text().size(), DaemonLog::kMaxText + 100);
  EXPECT_GT(Text().size(), DaemonLog::kMaxText);
}

TEST_F(DaemonLogTest, LinesOfLogLineGoToTheSink) {
  DaemonLog log("products", file_.get());
  SetLogSink(&log);
  LogInfo({.job = "a", .op = "attach"}, "job ", 1, " has attached");
  LogInfo("serving ", 2);
  LogDebug({.op = "attach"}, "not at this level");
  SetLogSink(nullptr);
  EXPECT_EQ(NumLines(), 2u);
  EXPECT_NE(Text().find("info job 1 has attached\n"), std::string::npos);
  EXPECT_NE(Text().find("info serving 2\n"), std::string::npos);
}

// JOURNAL_STREAM of the parent's standard error must not change what a file gets.
TEST_F(DaemonLogTest, AFileIsNoStreamOfTheJournal) { EXPECT_FALSE(IsJournalStream(file_.get())); }

}  // namespace
}  // namespace graphd
