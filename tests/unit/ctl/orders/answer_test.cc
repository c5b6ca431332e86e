// SPDX-License-Identifier: Apache-2.0
#include "ctl/orders/answer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "ctl/hosts/frame_reader.h"
#include "tests/unit/ctl/terminal/pipe_at.h"

namespace graphd::ctl {
namespace {

using graphd::testing::PipeAt;

// Puts the end of a pipe in the place of standard input while it lives.
class InputFrom {
 public:
  explicit InputFrom(const std::string& text, bool ends) : saved_(::dup(STDIN_FILENO)) {
    int fds[2];
    if (::pipe(fds) != 0) ThrowErrno("can't create", "a pipe");
    const UniqueFd read(fds[0]);
    write_ = UniqueFd(fds[1]);
    WriteExactly(write_.get(), std::as_bytes(std::span(text)), "a pipe");
    if (ends) write_.reset();
    ::dup2(read.get(), STDIN_FILENO);
  }
  ~InputFrom() { ::dup2(saved_.get(), STDIN_FILENO); }
  InputFrom(const InputFrom&) = delete;
  InputFrom& operator=(const InputFrom&) = delete;

 private:
  UniqueFd saved_, write_;
};

TEST(Answer, AnErrorArrivesWithItsCode) {
  std::string bytes;
  int code = 0;
  {
    PipeAt out({1});
    code = SendError(Error(ErrorCode::kDenied, "a \"quoted\" reason\nof two lines"));
    bytes = out.Read();
  }
  EXPECT_EQ(code, ExitCode(ErrorCode::kDenied));
  std::vector<nlohmann::json> frames;
  FrameReader reader(
      [&](const nlohmann::json& header, const std::string&) { frames.push_back(header); },
      [](const std::string& line) { ADD_FAILURE() << line; });
  reader.Feed(bytes);
  ASSERT_EQ(frames.size(), 1U);
  const nlohmann::json wanted = {
      {"t", "error"}, {"code", "denied"}, {"text", "a \"quoted\" reason\nof two lines"}};
  EXPECT_EQ(frames[0], wanted);
}

TEST(Answer, AnErrorThatCannotBeSentStillHasItsExitCode) {
  ::signal(SIGPIPE, SIG_IGN);
  int without_reader = 0, not_utf8 = 0;
  {
    PipeAt out({1});
    not_utf8 = SendError(Error(ErrorCode::kNotFound, "the file \xff\xfe"));
    out.CloseReader();
    without_reader = SendError(Error(ErrorCode::kCorrupt, "nobody reads this"));
  }
  EXPECT_EQ(without_reader, ExitCode(ErrorCode::kCorrupt));
  EXPECT_EQ(not_utf8, ExitCode(ErrorCode::kNotFound));
}

TEST(Answer, APauseEndsWhenWhoeverAskedHasGone) {
  {
    const InputFrom closed("", true);
    const Clock::time_point start = Clock::now();
    EXPECT_FALSE(PauseWhileAsked(60000));
    EXPECT_LT(SecondsSince(start), 30);
  }
  {
    const InputFrom ping("{\"t\":\"ping\"}\n", true);
    EXPECT_TRUE(PauseWhileAsked(60000));   // reads the line
    EXPECT_FALSE(PauseWhileAsked(60000));  // reads the end
  }
  {
    const InputFrom silent("", false);
    EXPECT_TRUE(PauseWhileAsked(1));
  }
}

}  // namespace
}  // namespace graphd::ctl
