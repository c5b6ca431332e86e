// SPDX-License-Identifier: Apache-2.0
#include "wire/loading_file.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

// The test takes the name of the daemon, which its files must come from.
class LoadingFileTest : public ::testing::Test {
 protected:
  LoadingFileTest() {
    ::prctl(PR_GET_NAME, name_);
    ::prctl(PR_SET_NAME, "graphd");
  }
  ~LoadingFileTest() override { ::prctl(PR_SET_NAME, name_); }

  // Returns what is read of a file with this text.
  std::optional<LoadingState> Read(const std::string& text) {
    WriteFileAtomically(path_, text);
    return ReadLoadingFile(path_);
  }

  char name_[16] = "";
  ScratchDirectory directory_;
  const std::string path_ = LoadingFilePath(directory_ / "30050.sock");
};

TEST_F(LoadingFileTest, StandsBesideTheSocket) { EXPECT_EQ(path_, directory_ / "30050.loading"); }

TEST_F(LoadingFileTest, TellsWhatWasWritten) {
  WriteLoadingFile(path_, {"products", ::getpid(), 5, 10});
  const auto state = ReadLoadingFile(path_);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->server_name, "products");
  EXPECT_EQ(state->pid, ::getpid());
  EXPECT_EQ(state->done, 5u);
  EXPECT_EQ(state->total, 10u);
  EXPECT_EQ(state->percent(), 50);
}

TEST_F(LoadingFileTest, AFileOfAnotherProgramIsIgnored) {
  WriteLoadingFile(path_, {"products", ::getpid(), 5, 10});
  ::prctl(PR_SET_NAME, "other");
  EXPECT_FALSE(ReadLoadingFile(path_));
}

TEST_F(LoadingFileTest, AFileOfAProcessThatHasEndedIsIgnored) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  WriteLoadingFile(path_, {"products", child, 5, 10});
  EXPECT_FALSE(ReadLoadingFile(path_));
}

TEST_F(LoadingFileTest, DamagedFilesAreIgnored) {
  EXPECT_FALSE(ReadLoadingFile(path_));  // there is none
  const std::string whole =
      StrCat(R"({"server_name":"s","pid":)", ::getpid(), R"(,"done":1,"total":2})");
  EXPECT_TRUE(Read(whole));
  for (size_t size = 0; size < whole.size(); size++) EXPECT_FALSE(Read(whole.substr(0, size)));
  for (const char* text : {"7", "[]", "null", R"({"server_name":7,"pid":1,"done":1,"total":2})",
                           R"({"server_name":"s","pid":-1,"done":1,"total":2})",
                           R"({"server_name":"s","pid":1e300,"done":1,"total":2})",
                           R"({"server_name":"s","pid":1,"done":1.5,"total":2})"}) {
    EXPECT_FALSE(Read(text)) << text;
  }
  EXPECT_FALSE(Read(std::string(1 << 20, ' ') + whole));
}

TEST_F(LoadingFileTest, AFileThatCanNotBeWrittenIsNoError) {
  WriteLoadingFile(directory_ / "missing/30050.loading", {"products", 1, 5, 10});
}

TEST(LoadingStateTest, PerCentAreRoundedDown) {
  EXPECT_EQ((LoadingState{"s", 1, 0, 0}.percent()), 0);
  EXPECT_EQ((LoadingState{"s", 1, 999, 1000}.percent()), 99);
  EXPECT_EQ((LoadingState{"s", 1, 1000, 1000}.percent()), 100);
  EXPECT_EQ((LoadingState{"s", 1, UINT64_MAX, UINT64_MAX}.percent()), 100);
}

}  // namespace
}  // namespace graphd::testing
