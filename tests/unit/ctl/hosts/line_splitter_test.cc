// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> LinesOf(const std::string& text, size_t piece) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  for (size_t i = 0; i < text.size(); i += piece) splitter.Feed(text.substr(i, piece));
  splitter.Finish();
  return lines;
}

TEST(LineSplitter, EndsLinesAtNewlinesReturnsAndTheEnd) {
  for (size_t piece = 1; piece < 20; piece++) {
    EXPECT_THAT(LinesOf("one\n\ntwo\r\n 10%\r 20%\rlast", piece),
                ElementsAre("one", "", "two", " 10%", " 20%", "last"));
  }
}

TEST(LineSplitter, CutsLinesThatNeverEnd) {
  const std::string text(2 * LineSplitter::kMaxLine + 5, 'x');
  const auto lines = LinesOf(text, 1000);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2], "xxxxx");
}

}  // namespace
}  // namespace graphd::ctl
