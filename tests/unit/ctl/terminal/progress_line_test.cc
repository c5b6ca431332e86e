// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/progress_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <functional>

#include "base/file.h"

namespace graphd::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns what a line shows where standard error is a file.
std::string InAFile(const std::function<void(ProgressLine&)>& show) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line;
    show(line);
  }
  return ::testing::internal::GetCapturedStderr();
}

// Returns what a line shows on a terminal.
std::string OnATerminal(const std::function<void(ProgressLine&)>& show) {
  int ends[2];
  if (::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0) return "no terminal";
  const UniqueFd ours(ends[0]), saved(::dup(STDERR_FILENO));
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  {
    ProgressLine line;
    show(line);
  }
  ::dup2(saved.get(), STDERR_FILENO);
  // A terminal may hand out what was written in several pieces. After the last one, because nobody
  // has its other end any more, reading fails.
  std::string shown;
  char bytes[4096];
  for (ssize_t got; (got = ::read(ours.get(), bytes, sizeof bytes)) > 0;) {
    shown.append(bytes, static_cast<size_t>(got));
  }
  return shown;
}

TEST(ProgressLine, AFileGetsALineForEachStep) {
  EXPECT_EQ(InAFile([](ProgressLine& line) {
              line.Show("reading", 0, 10);
              line.Show("reading", 5, 10, "nearly");
              line.Show("reading", 10, 10);
              line.Show("writing", 10, 10);
            }),
            "reading\nwriting\n");
}

TEST(ProgressLine, AFileGetsALineForEachMinuteOfAStepOfUnknownLength) {
  EXPECT_EQ(InAFile([](ProgressLine& line) {
              for (const uint64_t seconds : {0, 59, 60, 61, 120}) line.Show("load", seconds, 0);
            }),
            "load\nload: 60 s\nload: 120 s\n");
}

TEST(ProgressLine, ABarIsNeverLongerThanItsRoom) {
  const std::string shown = OnATerminal([](ProgressLine& line) { line.Show("copy", 25, 10); });
  EXPECT_THAT(shown, HasSubstr("\r[" + std::string(30, '#') + "] 100 %  copy"));
  const std::string none = OnATerminal([](ProgressLine& line) { line.Show("copy", 0, 10); });
  EXPECT_THAT(none, HasSubstr("\r[" + std::string(30, '.') + "]   0 %  copy"));
}

TEST(ProgressLine, ATerminalSeesTheEndOfAStepButNotEachOfItsSteps) {
  const std::string shown = OnATerminal([](ProgressLine& line) {
    line.Show("copy", 1, 10);
    line.Show("copy", 2, 10, "too soon");
    line.Show("copy", 10, 10, "at the end");
    line.Show("check", 0, 0);
  });
  EXPECT_THAT(shown, Not(HasSubstr("too soon")));
  EXPECT_THAT(shown, HasSubstr("100 %  copy: at the end"));
  // The next step has a line of its own, and so has whatever follows.
  EXPECT_THAT(shown, HasSubstr("\x1b[K\r\n\r"));
  EXPECT_TRUE(shown.ends_with("check\x1b[K\r\n")) << shown;
}

}  // namespace
}  // namespace graphd::ctl
