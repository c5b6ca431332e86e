// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/trainer_logs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ScratchDirectory;

TEST(TrainerLogs, EachTrainerHasAFileThatOthersCanNotRead) {
  const ScratchDirectory scratch;
  const std::string directory = scratch / "logs/job-1";
  TrainerLogs logs(directory);
  logs.Append(0, "one\n");
  logs.Append(12, "two\nthree\n");
  logs.Append(0, "four\n");
  EXPECT_EQ(ReadTextFile(directory + "/trainer-0.log"), "one\nfour\n");
  EXPECT_EQ(ReadTextFile(directory + "/trainer-12.log"), "two\nthree\n");
  struct stat info {};
  ASSERT_EQ(::stat((directory + "/trainer-0.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  TrainerLogs(directory).Append(0, "five\n");
  EXPECT_EQ(ReadTextFile(directory + "/trainer-0.log"), "one\nfour\nfive\n");
}

TEST(TrainerLogs, AFullFileIsRenamedSoThatTwoFilesRemain) {
  const ScratchDirectory scratch;
  TrainerLogs logs(scratch.path(), 20);
  for (char c = 'a'; c < 'h'; c++) logs.Append(0, std::string(7, c) + "\n");
  EXPECT_EQ(ReadTextFile(scratch / "trainer-0.log"), "ggggggg\n");
  EXPECT_EQ(ReadTextFile(scratch / "trainer-0.log.1"), "eeeeeee\nfffffff\n");
  EXPECT_EQ(ListDirectory(scratch.path()).size(), 2U);
  logs.Append(0, std::string(50, 'x') + "\n");  // is not cut
  EXPECT_EQ(ReadTextFile(scratch / "trainer-0.log").size(), 51U);
}

TEST(TrainerLogs, AfterAnErrorTheFileIsTriedAgain) {
  const ScratchDirectory scratch;
  TrainerLogs logs(scratch / "logs");
  ASSERT_EQ(::symlink("/dev/null", (scratch / "logs/trainer-0.log").c_str()), 0);
  EXPECT_NE(logs.Append(0, "lost\n"), "");
  EXPECT_EQ(logs.Append(0, "lost, too\n"), "") << "one report is enough";
  EXPECT_EQ(logs.Append(1, "of another trainer\n"), "");
  RemoveFile(scratch / "logs/trainer-0.log");
  EXPECT_EQ(logs.Append(0, "there\n"), "");
  EXPECT_EQ(ReadTextFile(scratch / "logs/trainer-0.log"), "there\n");
}

}  // namespace
}  // namespace graphd::ctl
