// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/host_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/strings.h"

namespace graphd::ctl {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHello = StrCat(R"({"t":"hello","version":")", GRAPHD_VERSION, "\"}\n");

// Copies two small files to a shell script in place of the receiver, which may send anything.
class HostCopyTest : public ::testing::Test {
 protected:
  HostCopyTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::string name = (fs::temp_directory_path() / "host-copy-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    top_ = name;
    for (const char* file : {"a", "b"}) {
      WriteFileAtomically((top_ / file).string(), "0123");
      plan_.files.push_back({{(top_ / file).string(), 4, 0644, {}}, file, false, {}});
    }
    plan_.workspace = "/nowhere";
    plan_.hosts.push_back({true, "h", "h", {0}, {0, 1}, 8});
  }
  ~HostCopyTest() override { fs::remove_all(top_); }

  // A receiver that sends `text` and then runs `command`, which reads until its input ends.
  void FakeReceiver(const std::string& text, const char* command = "cat > /dev/null") {
    WriteFileAtomically((top_ / "says").string(), text);
    WriteFileAtomically((top_ / "far").string(),
                        StrCat("#!/bin/sh\ncat ", (top_ / "says").string(), "\n", command, "\n"));
    fs::permissions(top_ / "far", fs::perms(0755));
  }

  void Copy(double silence = 0) {
    HostCopy copy(
        plan_, plan_.hosts[0], checksums_,
        [this] { return OpenLocalStream((top_ / "far").string(), "receive"); },
        CopyTimeouts{.silence = silence, .stall = stall_}, cancelled_, progress_,
        [this](const std::string& line) { noise_.push_back(line); });
    copy.List();
    copy.Send(false);
  }

  std::string ErrorOf(ErrorCode code) {
    try {
      Copy();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  fs::path top_;
  CopyPlan plan_;
  std::vector<uint64_t> checksums_ = {1, 2};
  std::atomic<bool> cancelled_{false};
  HostProgress progress_;
  std::vector<std::string> noise_;
  double stall_ = 0;
};

const std::string kSame0 = "{\"t\":\"same\",\"file\":0}\n";
const std::string kLacks1 = "{\"t\":\"lacks\",\"file\":1,\"have\":0}\n";
const std::string kListed = "{\"t\":\"listed\",\"bytes\":4}\n";
const std::string kStored1 = "{\"t\":\"stored\",\"file\":1}\n";
const std::string kFinished = "{\"t\":\"finished\"}\n";

TEST_F(HostCopyTest, CountsExistingAndSentFilesAndPassesNoiseOn) {
  FakeReceiver("Welcome!\n" + kHello + kSame0 + kLacks1 + kListed + kStored1 + kFinished);
  Copy();
  EXPECT_EQ(progress_.files_same, 1u);
  EXPECT_EQ(progress_.bytes_same, 4u);
  EXPECT_EQ(progress_.bytes_sent, 4u);
  EXPECT_THAT(noise_, ElementsAre("Welcome!"));
}

TEST_F(HostCopyTest, ASilentProgramIsReportedAsNotRunnable) {
  FakeReceiver("", "exit 3");
  EXPECT_THAT(ErrorOf(ErrorCode::kNotFound),
              AllOf(HasSubstr("far exited with 3"), HasSubstr("--graphctl")));
}

TEST_F(HostCopyTest, AnEndAtAnyPointIsReported) {
  const std::string lines[] = {kHello, kSame0, kLacks1, kListed, kStored1, "{\"t\":\"fini"};
  std::string said;
  for (const std::string& line : lines) {
    said += line;
    FakeReceiver(said, "exit 3");
    EXPECT_THAT(ErrorOf(ErrorCode::kUnavailable), HasSubstr("ended before the copy was complete"));
    progress_.files_same = 0;
  }
}

TEST_F(HostCopyTest, InconsistentAnswersAreRejected) {
  for (const std::string& lie : {
           std::string("{\"t\":\"same\",\"file\":2}\n"),
           std::string("{\"t\":\"same\",\"file\":-1}\n"),
           std::string("{\"t\":\"same\",\"file\":\"0\"}\n"),
           std::string("{\"t\":\"same\"}\n"),
           std::string("{\"t\":\"lacks\",\"file\":0,\"have\":5,\"xxh3\":\"0000000000000000\"}\n"),
           std::string("{\"t\":\"checking\",\"bytes\":1.5}\n"),
           std::string("{\"t\":\"nonsense\"}\n"),
           std::string("{\"t\":\"out\",\"n\":99999999999}\n"),
           kLacks1,                                 // answers before file 0 is answered
           kSame0 + kSame0,                         // answers twice
           kSame0 + kListed,                        // answers for one of two files
           kSame0 + kLacks1 + kListed + kSame0,     // answers after the list
           kSame0 + kLacks1 + kListed + kFinished,  // finishes without storing file 1
           kSame0 + kLacks1 + kListed + kStored1 + kStored1 + kFinished,
           kSame0 + kLacks1 + kListed + "{\"t\":\"stored\",\"file\":0}\n",
       }) {
    FakeReceiver(kHello + lie);
    EXPECT_NE(ErrorOf(ErrorCode::kCorrupt), "") << lie;
    progress_.files_same = 0;
  }
}

TEST_F(HostCopyTest, RemoteErrorsKeepTheirCodeAndText) {
  FakeReceiver(kHello + "{\"t\":\"error\",\"code\":\"overloaded\",\"text\":\"no room\"}\n");
  EXPECT_EQ(ErrorOf(ErrorCode::kOverloaded), "no room");
  FakeReceiver(kHello + "{\"t\":\"error\",\"code\":5,\"text\":[]}\n");
  EXPECT_EQ(ErrorOf(ErrorCode::kInternal), "it failed");
}

TEST_F(HostCopyTest, AnotherVersionIsRefused) {
  FakeReceiver("{\"t\":\"hello\",\"version\":\"9.9\"}\n");
  EXPECT_THAT(ErrorOf(ErrorCode::kVersion), HasSubstr("9.9"));
  FakeReceiver("{\"t\":\"hello\",\"version\":\"" + std::string(100000, '9') + "\"}\n");
  EXPECT_LT(ErrorOf(ErrorCode::kVersion).size(), 300u);
}

TEST_F(HostCopyTest, ASourceThatBecameShorterIsAnErrorThatNamesIt) {
  FakeReceiver(kHello + kSame0 + kLacks1 + kListed);
  fs::resize_file(top_ / "b", 3);
  EXPECT_THAT(ErrorOf(ErrorCode::kCorrupt), HasSubstr((top_ / "b").string()));
}

TEST_F(HostCopyTest, AnInterruptEndsTheWaitForASilentOrTalkativeReceiver) {
  for (const char* command : {"cat > /dev/null", "while echo y; do sleep 0.01; done"}) {
    FakeReceiver(kHello, command);
    cancelled_ = false;
    progress_.step = HostProgress::Step::kConnecting;
    std::jthread interrupt([this](const std::stop_token& stop) {
      while (!stop.stop_requested() && progress_.step != HostProgress::Step::kChecking) {
        std::this_thread::yield();
      }
      cancelled_ = true;
    });
    EXPECT_THAT(ErrorOf(ErrorCode::kUnavailable), HasSubstr("interrupted")) << command;
  }
}

TEST_F(HostCopyTest, AReceiverWithoutProgressIsGivenUpEvenIfItSendsMessages) {
  stall_ = 0.3;
  const std::string again = "{\"t\":\"checking\",\"bytes\":7}";
  for (const std::string& command :
       {std::string("cat > /dev/null"), StrCat("while echo '", again, "'; do sleep 0.05; done")}) {
    FakeReceiver(kHello, command.c_str());
    EXPECT_THAT(ErrorOf(ErrorCode::kUnavailable),
                AllOf(HasSubstr("no progress for 0.3 s"), HasSubstr("--stall_timeout")))
        << command;
    progress_.checked = 0;
  }
}

TEST_F(HostCopyTest, AcceptedPingsDoNotCountAsProgress) {
  stall_ = 0.4;
  FakeReceiver(kHello + kSame0);
  EXPECT_THROW(Copy(/*silence=*/0.1), Error);
}

TEST_F(HostCopyTest, AReceiverThatReportsProgressIsNotGivenUp) {
  stall_ = 4;
  const std::string answers = kSame0 + kLacks1 + kListed + kStored1 + kFinished;
  WriteFileAtomically((top_ / "answers").string(), answers);
  FakeReceiver(kHello, StrCat("for i in $(seq 18); do sleep 0.3; ",
                              R"(echo "{\"t\":\"checking\",\"bytes\":$i}"; done; cat )",
                              (top_ / "answers").string(), "; cat > /dev/null")
                           .c_str());
  Copy();
  EXPECT_EQ(progress_.checked, 18u);
}

TEST_F(HostCopyTest, AReceiverThatSendsTooMuchIsGivenUp) {
  for (const char* flood :
       {"exec yes", "exec yes >&2", "exec yes '{\"t\":\"checking\",\"bytes\":7}'"}) {
    FakeReceiver(kHello, flood);
    EXPECT_THAT(ErrorOf(ErrorCode::kCorrupt), HasSubstr("more than a copy needs")) << flood;
  }
}

TEST_F(HostCopyTest, TimeoutsBelowASecondAreRoundedUp) {
  FakeReceiver(kHello + kSame0 + kLacks1 + kListed + kStored1 + kFinished,
               StrCat("cat > ", (top_ / "heard").string()).c_str());
  Copy(0.5);
  EXPECT_THAT(ReadTextFile((top_ / "heard").string()), HasSubstr("\"timeout\":1,"));
}

}  // namespace
}  // namespace graphd::ctl
