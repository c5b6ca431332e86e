// SPDX-License-Identifier: Apache-2.0
#include "base/directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Failure(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

TEST(Directory, AMissingPathIsAnErrorThatNamesIt) {
  const ScratchDirectory scratch;
  const std::string missing = scratch / "missing";
  for (const auto& f : std::initializer_list<std::function<void()>>{
           [&] { ListDirectory(missing); }, [&] { ListFilesBelow(missing); },
           [&] { RenameFile(missing, scratch / "other"); }, [&] { CanonicalPath(missing); },
           [&] { OpenOwnFile(missing, O_RDONLY); }, [&] { OpenOwnDirectory(missing); }}) {
    EXPECT_THAT(Failure(f), AllOf(StartsWith("not_found: "), HasSubstr(missing)));
  }
  RemoveFile(missing);
  RemoveTree(missing);
}

TEST(Directory, WhatCanNotBeReadHasNoNames) {
  const ScratchDirectory scratch;
  EXPECT_THAT(ListReadable(scratch / "missing"), ElementsAre());
  for (const char* const name : {"b", "a"}) MakeDirectories(scratch / name);
  EXPECT_THAT(ListReadable(scratch.path()), ElementsAre("a", "b"));
  // The names in the directory of a process that has ended can't be read to the end.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  EXPECT_NO_THROW(ListReadable(StrCat("/proc/", child, "/fd")));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(ListReadable(StrCat("/proc/", child, "/fd")), ElementsAre());
}

TEST(Directory, AnAbsolutePathNeedsNoFile) {
  EXPECT_EQ(AbsolutePath("/missing/../other/./file"), "/other/file");
  EXPECT_EQ(AbsolutePath("missing"), StrCat(CanonicalPath("."), "/missing"));
  EXPECT_THAT(Failure([] { AbsolutePath(""); }), HasSubstr("can't tell where this is"));
}

TEST(Directory, WithoutAHomeThereIsNoDirectoryForTensors) {
  ASSERT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
  const pid_t child = ::fork();
  if (child == 0) {
    for (const char* name : {"GRAPHD_STATE_DIR", "XDG_STATE_HOME", "HOME"}) ::unsetenv(name);
    if (::setuid(65534) != 0) ::_exit(1);
    const bool refused = Failure([] { DefaultStateDir(); }).starts_with("invalid: ");
    ::setenv("HOME", "/home/somebody", 1);
    ::_exit(refused && DefaultStateDir() == "/home/somebody/.local/state/graphd" ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Directory, ListsNamesAndFilesInOrder) {
  const ScratchDirectory scratch;
  MakeDirectories(scratch / "b/c");
  WriteFileAtomically(scratch / "b/c/file", "");
  WriteFileAtomically(scratch / "a", "");
  EXPECT_THAT(ListDirectory(scratch.path()), ElementsAre("a", "b"));
  EXPECT_THAT(ListFilesBelow(scratch.path()), ElementsAre(scratch / "a", scratch / "b/c/file"));
}

TEST(Directory, OnlyWhatNobodyElseCanChangeIsOpenedAsOwn) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "file", directory = scratch / "directory";
  WriteFileAtomically(file, "text");
  MakeDirectories(directory);
  OpenOwnFile(file, O_RDONLY);
  OpenOwnDirectory(directory);
  EXPECT_THAT(Failure([&] { OpenOwnFile(directory, O_RDONLY); }), HasSubstr("not a regular file"));
  ::chmod(file.c_str(), 0660);
  EXPECT_THAT(Failure([&] { OpenOwnFile(file, O_RDONLY); }),
              "denied: " + file + " can be written by other users");
  ::chmod(file.c_str(), 0600);
  ::chmod(directory.c_str(), 0777);
  EXPECT_THAT(Failure([&] { OpenOwnDirectory(directory); }), HasSubstr("other users"));
  ::chmod(directory.c_str(), 0700);
  ASSERT_EQ(::symlink(file.c_str(), (scratch / "link").c_str()), 0);
  ASSERT_EQ(::symlink(directory.c_str(), (scratch / "links").c_str()), 0);
  EXPECT_THAT(Failure([&] { OpenOwnFile(scratch / "link", O_RDONLY); }), HasSubstr("is a link"));
  EXPECT_THAT(Failure([&] { OpenOwnDirectory(scratch / "links"); }), HasSubstr("is a link"));
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(Failure([&] { OpenOwnFile(scratch / "fifo", O_RDONLY); }),
              HasSubstr("not a regular file"));
  ASSERT_EQ(::geteuid(), 0U) << "only root can give files away: run this test as root";
  ASSERT_EQ(::chown(file.c_str(), 1, 1), 0);
  ASSERT_EQ(::chown(directory.c_str(), 1, 1), 0);
  EXPECT_THAT(Failure([&] { OpenOwnFile(file, O_RDONLY); }), HasSubstr("belongs to user 1"));
  EXPECT_THAT(Failure([&] { OpenOwnDirectory(directory); }), HasSubstr("belongs to user 1"));
}

TEST(Directory, SaysWhatHasHappenedToAnOpenFile) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "file";
  WriteFileAtomically(path, "text");
  const UniqueFd fd = OpenFile(path, O_RDWR);
  EXPECT_EQ(WhatHappenedTo(fd.get(), path, 4), "");
  EXPECT_EQ(::ftruncate(fd.get(), 2), 0);
  EXPECT_EQ(WhatHappenedTo(fd.get(), path), "");
  EXPECT_EQ(WhatHappenedTo(fd.get(), path, 4), path + " was changed to 2 bytes from 4");
  RenameFile(path, scratch / "other");
  EXPECT_EQ(WhatHappenedTo(fd.get(), path), path + " was removed or renamed");
  WriteFileAtomically(path, "text");
  EXPECT_EQ(WhatHappenedTo(fd.get(), path), path + " was replaced by another one");
  RemoveFile(scratch / "other");
  EXPECT_EQ(WhatHappenedTo(fd.get(), path), path + " was removed");
}

}  // namespace
}  // namespace graphd
