// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/directory.h"
#include "store/persistent_arena.h"
#include "store/rows/memory_dir.h"
#include "tests/unit/store/await_child.h"
#include "tests/unit/store/store_helpers.h"

// Memory that a process leaves to the next one, by a clean end or a kill, and which of the two
// counts when a database is restored or used by other servers in between.

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using namespace graphd::store::testing;
using graphd::testing::MemoryDirectory;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LeftMemoryTest : public ::testing::Test {
 protected:
  LeftMemoryTest() {
    options_ = Options(scratch_);
    options_.memory_dir = tmpfs_.path();
    options_.next_process_follows = [this] { return follows_; };
    options_.log_segment_bytes = 20000;  // two pushes
  }

  // Makes pushes `first` to `last` in a process that is killed; `words`: see memory_child.cc.
  void PushAndKill(uint64_t first, uint64_t last, const std::vector<std::string>& words = {}) {
    std::vector<std::string> line = {MEMORY_CHILD, options_.directory, options_.memory_dir,
                                     std::to_string(first), std::to_string(last)};
    line.insert(line.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : line) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execv(MEMORY_CHILD, arguments.data());
      ::_exit(127);
    }
    const int status = testing::AwaitChild(child);
    ASSERT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL) << "its status is " << status;
  }
  // Returns the rows after pushes 1 to `last`.
  std::vector<float> RowsAt(uint64_t last) {
    const auto table = reference_.OpenTable(Spec());
    while (in_reference_ < last) {
      in_reference_++;
      ApplyRandom(reference_, table, in_reference_, in_reference_);
    }
    return AllRows(*table);
  }
  // Opens the store, expects no damage and rows after `last`; returns the place of its memory.
  std::string Check(uint64_t last, const StoreOptions& options) {
    Store store(options);
    EXPECT_THAT(store.damage(), IsEmpty());
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(last));
    EXPECT_EQ(store.TroubleOf(*store.FindTable("emb")), "");
    return store.status().memory;
  }
  std::string Check(uint64_t last) { return Check(last, options_); }

  std::string NamePath() const { return options_.directory + "/memory"; }
  std::string SavedPath() const { return options_.directory + "/memory-saved"; }
  // Returns the directories of memory.
  std::vector<std::string> Memories() const { return ListDirectory(tmpfs_.path()); }

  const ScratchDirectory scratch_, reference_scratch_;
  const MemoryDirectory tmpfs_;
  StoreOptions options_;
  bool follows_ = false;

 private:
  Store reference_{Options(reference_scratch_)};
  uint64_t in_reference_ = 0;
};

// The unit graphd@.service has such a umask.
TEST_F(LeftMemoryTest, AUmaskThatLetsTheGroupWriteDoesNotMakeItUntrusted) {
  const mode_t before = ::umask(0007);
  for (uint64_t first = 1; first <= 41; first += 20) PushAndKill(first, first + 19);
  EXPECT_THAT(Memories(), SizeIs(1));
  Check(60);
  ::umask(before);
  EXPECT_THAT(Memories(), IsEmpty());  // A clean end has removed it.
}

TEST_F(LeftMemoryTest, AKillAtTheEndLosesNothing) {
  PushAndKill(1, 10, {"at end"});  // all is in RocksDB, and the memory is still named
  EXPECT_TRUE(FileExists(NamePath()));
  EXPECT_THAT(Memories(), SizeIs(1));
  Check(10);
}

TEST_F(LeftMemoryTest, TheNextProcessTakesWhatACleanEndLeaves) {
  PushAndKill(1, 20);
  follows_ = true;
  const std::string directory = Check(20);
  EXPECT_FALSE(FileExists(NamePath()));
  EXPECT_TRUE(FileExists(SavedPath()));
  PushAndKill(21, 40);
  EXPECT_TRUE(FileExists(NamePath()));
  EXPECT_FALSE(FileExists(SavedPath()));
  EXPECT_EQ(Check(40), directory);
  EXPECT_THAT(Memories(), SizeIs(1));
}

TEST_F(LeftMemoryTest, ALeftMemoryThatIsGoneCostsNothing) {
  PushAndKill(1, 20);
  follows_ = true;
  const std::string directory = Check(20);
  fs::remove_all(directory);
  EXPECT_NE(Check(20), directory);
}

TEST_F(LeftMemoryTest, WhatWasLeftIsNotTakenAfterAnotherServerHasWritten) {
  PushAndKill(1, 20);
  follows_ = true;
  const std::string directory = Check(20);
  const std::string left = ReadTextFile(SavedPath());
  fs::copy(directory, directory + "-copy", fs::copy_options::recursive);
  follows_ = false;
  {
    Store store(options_);
    ApplyRandom(store, store.FindTable("emb"), 21, 30);
  }
  // A version that does not know this file leaves it, and the memory.
  WriteFileAtomically(SavedPath(), left);
  fs::rename(directory + "-copy", directory);
  EXPECT_NE(Check(30), directory);
  EXPECT_THAT(Memories(), IsEmpty());  // it was removed as that of an ended process
}

TEST_F(LeftMemoryTest, BothNamesAreLeftByAKillAndTheFirstCounts) {
  PushAndKill(1, 20);
  const std::string name = ReadTextFile(NamePath());
  follows_ = true;
  Check(20);
  WriteFileAtomically(NamePath(), name);  // A kill before this is removed leaves it.
  PushAndKill(21, 30);
  EXPECT_FALSE(FileExists(SavedPath()));
  Check(30);
}

TEST_F(LeftMemoryTest, ADatabaseFromABackupRefusesLaterMemory) {
  PushAndKill(1, 10);
  const std::string backup = options_.directory + "-backup";
  fs::copy(options_.directory, backup, fs::copy_options::recursive);  // like a disk's snapshot
  PushAndKill(11, 20, {"written"});
  const std::string now = options_.directory + "-now";
  fs::rename(options_.directory, now);
  fs::rename(backup, options_.directory);
  EXPECT_THAT(Failure([&] { Store store(options_); }),
              AllOf(HasSubstr("denied: "), HasSubstr("restored from a backup"),
                    HasSubstr("Remove " + NamePath())));
  fs::remove_all(options_.directory);
  fs::rename(now, options_.directory);
  Check(20);
}

TEST_F(LeftMemoryTest, MemoryThatIsNamedAlreadyIsNotNamedAgain) {
  PushAndKill(1, 10);
  const auto before = fs::last_write_time(NamePath());
  PushAndKill(11, 20);
  EXPECT_EQ(fs::last_write_time(NamePath()), before);
  Check(20);
}

TEST_F(LeftMemoryTest, OtherOptionsMoveItToTheDisk) {
  StoreOptions power = options_, bounded = options_;
  power.durability = Durability::kPower;
  power.memory_dir = "";
  bounded.memory_bytes = 1 << 20;
  uint64_t last = 0;
  for (const StoreOptions& other : {power, bounded}) {
    for (const bool clean : {false, true}) {
      PushAndKill(last + 1, last + 10);
      last += 10;
      follows_ = true;
      if (clean) Check(last);
      EXPECT_THAT(Memories(), SizeIs(1));
      EXPECT_EQ(Check(last, other), "");
      EXPECT_THAT(Memories(), IsEmpty());
      EXPECT_FALSE(FileExists(SavedPath()));
    }
  }
}

TEST_F(LeftMemoryTest, LeftMemoryInAnotherTmpfsIsFreedIfItIsNotUsed) {
  PushAndKill(1, 20);
  follows_ = true;
  Check(20);
  const MemoryDirectory other;
  StoreOptions elsewhere = options_;
  elsewhere.memory_dir = other.path();
  std::string name = ReadTextFile(SavedPath());
  name += "0";  // RocksDB has another state.
  WriteFileAtomically(SavedPath(), name);
  EXPECT_THAT(Check(20, elsewhere), StartsWith(other.path()));
  EXPECT_THAT(Memories(), IsEmpty());
}

TEST_F(LeftMemoryTest, MemoryIsTakenFromAnotherTmpfsThanTheOneOfTheOptions) {
  const MemoryDirectory before;
  const std::string tmpfs = options_.memory_dir;
  options_.memory_dir = before.path();
  PushAndKill(1, 10);
  options_.memory_dir = tmpfs;
  EXPECT_THAT(Check(10), StartsWith(before.path()));
  EXPECT_THAT(Check(10), StartsWith(tmpfs));
}

}  // namespace
}  // namespace graphd::store
