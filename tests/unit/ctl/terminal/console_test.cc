// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/console.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/unit/ctl/terminal/pipe_at.h"

namespace graphd::ctl {
namespace {

using graphd::testing::PipeAt;

constexpr int kPage = 4096;

// Returns a text in which each lost or repeated piece shows.
std::string Numbers(size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; i++) text += std::to_string(i) + " ";
  return text;
}

TEST(Console, KeepsTheOrderOfBothOutputs) {
  Console console;
  std::string text;
  {
    PipeAt both({1, 2});
    console.Add(1, "a");
    console.Add(2, "b");
    console.Add(1, "");
    console.Add(1, "c");
    console.Add(1, "d");
    console.WriteSome();
    text = both.Read();
  }
  EXPECT_EQ(text, "abcd");
  EXPECT_TRUE(console.empty());
  EXPECT_EQ(console.size(), 0U);
  EXPECT_EQ(console.fd(), -1);
}

TEST(Console, LosesNothingWhileItsReaderIsSlow) {
  const std::string text = Numbers(5 * kPage), last = "last";
  Console console;
  std::string got;
  size_t kept = 0;
  int waits_for = -1;
  {
    PipeAt out({1}, kPage);
    console.Add(1, text);
    console.Add(1, last);
    console.WriteSome();  // would block for ever if it wrote more than there is room for
    kept = console.size();
    waits_for = console.fd();
    for (int i = 0; i < 1000 && !console.empty(); i++) {
      got += out.Read();
      console.WriteSome();
    }
    got += out.Read();
  }
  EXPECT_EQ(kept, text.size() + last.size());
  EXPECT_EQ(waits_for, 1);
  EXPECT_EQ(got, text + last);
  EXPECT_TRUE(console.empty());
}

TEST(Console, DropsAtTheEndWhatNobodyReads) {
  const std::string text = Numbers(5 * kPage);
  Console console;
  std::string got, error;
  {
    PipeAt out({1}, kPage);
    PipeAt err({2});
    console.Add(1, text);
    console.Add(2, "an error");
    console.WriteOrDrop();
    got = out.Read();
    error = err.Read();
  }
  EXPECT_TRUE(console.empty());
  EXPECT_EQ(console.size(), 0U);
  EXPECT_LT(got.size(), text.size());
  EXPECT_TRUE(text.starts_with(got));
  EXPECT_EQ(error, "an error");
}

TEST(Console, KeepsNothingForAnOutputWithoutAReader) {
  ::signal(SIGPIPE, SIG_IGN);
  Console console;
  std::string error;
  {
    PipeAt out({1});
    PipeAt err({2});
    out.CloseReader();
    console.Add(1, "lost");
    console.Add(2, "seen");
    console.WriteSome();
    error = err.Read();
  }
  EXPECT_TRUE(console.out_is_broken());
  EXPECT_EQ(error, "seen");
  console.Add(1, "more");
  EXPECT_TRUE(console.empty());
}

TEST(Console, IsFullAtItsLimit) {
  constexpr size_t kLimit = size_t{4} << 20;
  Console console;
  console.Add(1, std::string(kLimit - 1, 'x'));
  EXPECT_FALSE(console.full());
  console.Add(2, "y");
  EXPECT_TRUE(console.full());
}

}  // namespace
}  // namespace graphd::ctl
