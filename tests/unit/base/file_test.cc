// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using graphd::testing::ScratchDirectory;

TEST(WriteFileAtomically, FollowsNoLinkAtTheTemporaryName) {
  const ScratchDirectory scratch;
  WriteFileAtomically(scratch / "precious", "as it was");
  const std::string temporary = StrCat(scratch / "report", ".tmp", ::getpid());
  ASSERT_EQ(::symlink((scratch / "precious").c_str(), temporary.c_str()), 0);
  WriteFileAtomically(scratch / "report", "new");
  EXPECT_EQ(ReadTextFile(scratch / "precious"), "as it was");
  EXPECT_EQ(ReadTextFile(scratch / "report"), "new");
  struct stat info {};
  ASSERT_EQ(::lstat((scratch / "report").c_str(), &info), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
}

TEST(WriteFileAtomically, LeavesNothingAfterAnError) {
  const ScratchDirectory scratch;
  MakeDirectories(scratch / "taken/full");
  EXPECT_THROW(WriteFileAtomically(scratch / "taken", "text"), Error);
  EXPECT_EQ(ListDirectory(DirName(scratch / "taken")), std::vector<std::string>{"taken"});
}

}  // namespace
}  // namespace graphd
