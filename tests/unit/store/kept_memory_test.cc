// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "store/memory_rescue.h"
#include "store/persistent_arena.h"
#include "store/rows/memory_dir.h"
#include "tests/unit/store/child_environment.h"
#include "tests/unit/store/store_helpers.h"
#include "tests/unit/store/test_keeper.h"

// Orders of events around memory that a keeper has: where a process is killed, and what the next
// one finds.

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

class KeptMemoryTest : public ::testing::Test {
 protected:
  KeptMemoryTest() {
    options_ = Options(scratch_);
    options_.memory_dir = named_.path();
    options_.kept_memory_dir = tmpfs_.path();
    options_.keeper = keeper_;
    options_.log_segment_bytes = 20000;  // two pushes
  }

  // Makes pushes `first` to `last` in a process that is killed; `words`: see kept_child.cc.
  void PushAndKill(uint64_t first, uint64_t last, const std::vector<std::string>& words = {}) {
    std::vector<std::string> line = {
        KEPT_CHILD,          options_.directory,    tmpfs_.path(),
        options_.memory_dir, std::to_string(first), std::to_string(last)};
    line.insert(line.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : line) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    testing::ChildEnvironment environment;
    keeper_->Begin(environment);
    char** variables = environment.data();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      keeper_->InChild();
      ::execve(KEPT_CHILD, arguments.data(), variables);
      ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    keeper_->End();
    tmpfs_.MountAgain();  // the path of the memory has gone with the process
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

  // Replaces the database by a copy from before its last write-back; `words`: see kept_child.cc.
  void ExpectABackupIsRefused(std::vector<std::string> words) {
    const std::vector<std::string> without(words.begin() + 1, words.end());
    PushAndKill(1, 10, without);
    const std::string backup = options_.directory + "-backup";
    fs::copy(options_.directory, backup, fs::copy_options::recursive);  // like a disk's snapshot
    PushAndKill(11, 20, words);
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
  std::string NamePath() const { return options_.directory + "/memory"; }
  std::string SavedPath() const { return options_.directory + "/memory-saved"; }
  std::string NamedDirectory() const { return named_.path(); }

  const ScratchDirectory scratch_, reference_scratch_;
  const MemoryDirectory named_;
  PrivateTmpfs tmpfs_;
  StoreOptions options_;
  const std::shared_ptr<ParentKeeper> keeper_ = std::make_shared<ParentKeeper>();

 private:
  Store reference_{Options(reference_scratch_)};
  uint64_t in_reference_ = 0;
};

TEST_F(KeptMemoryTest, RowsSurviveKillsInMemoryWithoutAPath) {
  for (uint64_t first = 1; first <= 41; first += 20) PushAndKill(first, first + 19);
  ASSERT_THAT(keeper_->kept, SizeIs(1));
  EXPECT_TRUE(fs::is_empty(NamedDirectory()));
  EXPECT_TRUE(fs::is_empty(options_.kept_memory_dir));
  EXPECT_THAT(Check(60), StartsWith("/proc/"));
  EXPECT_THAT(keeper_->kept, IsEmpty());  // a clean end has removed it
  EXPECT_FALSE(FileExists(NamePath()));
  Check(60);
}

// The unit graphd@.service has such a umask.
TEST_F(KeptMemoryTest, AUmaskThatLetsTheGroupWriteDoesNotMakeItUntrusted) {
  const mode_t before = ::umask(0007);
  for (uint64_t first = 1; first <= 21; first += 20) PushAndKill(first, first + 19);
  Check(40);
  PushAndKill(41, 50, {"old"});
  Check(50);
  ::umask(before);
}

TEST_F(KeptMemoryTest, AKeeperThatRefusesLeavesTheMemoryInTheNamedDirectory) {
  keeper_->refusal = "it is full";
  Store store(options_);
  EXPECT_THAT(store.status().memory, StartsWith(NamedDirectory()));
  EXPECT_TRUE(fs::is_empty(options_.kept_memory_dir));
}

TEST_F(KeptMemoryTest, AKeeperThatRefusesWithoutANamedDirectoryLeavesTheLog) {
  keeper_->refusal = "it is full";
  options_.memory_dir.clear();
  Store store(options_);
  EXPECT_EQ(store.status().memory, "");
  ApplyRandom(store, store.OpenTable(Spec()), 1, 5);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(5));
}

TEST_F(KeptMemoryTest, MemoryThatNoStoreNamesIsFoundUseless) {
  PushAndKill(1, 0, {"at:after keep"});  // before the store's directory names it
  ASSERT_THAT(keeper_->kept, SizeIs(1));
  const auto& [name, fd] = *keeper_->kept.begin();
  EXPECT_THAT(WhyUseless(name, fd.get()), HasSubstr("does not name it"));
  PushAndKill(2, 10);  // makes other memory
  ASSERT_THAT(keeper_->kept, SizeIs(2));
  size_t useless = 0;
  for (const auto& [each, its_fd] : keeper_->kept) {
    useless += WhyUseless(each, its_fd.get()).empty() ? 0U : 1U;
  }
  EXPECT_EQ(useless, 1U);
  const ScratchDirectory scratch;
  Store reference(Options(scratch));
  const auto table = reference.OpenTable(Spec());
  ApplyRandom(reference, table, 2, 10);
  EXPECT_EQ(AllRows(*Store(options_).FindTable("emb")), AllRows(*table));
}

TEST_F(KeptMemoryTest, AKillBeforeTheKeeperHasItLosesNothing) {
  PushAndKill(1, 0, {"at:before keep"});
  EXPECT_THAT(keeper_->kept, IsEmpty());
  EXPECT_FALSE(FileExists(NamePath()));
  PushAndKill(2, 1);
  EXPECT_THAT(keeper_->kept, SizeIs(1));
}

TEST_F(KeptMemoryTest, KillsAtTheEndLoseNothing) {
  for (const bool follows : {false, true}) {
    const uint64_t first = follows ? 61 : 1;
    std::vector<std::string> ends = {"at:end"};
    if (follows) ends.push_back("follows");
    PushAndKill(first, first + 9, ends);  // all is in RocksDB, and the name is there
    EXPECT_TRUE(FileExists(NamePath()));
    if (follows) {
      Check(first + 9);
      continue;
    }
    PushAndKill(first + 10, first + 19, {"at:before remove"});
    EXPECT_FALSE(FileExists(NamePath()));
    EXPECT_THAT(keeper_->kept, SizeIs(1));
    PushAndKill(first + 20, first + 29);  // does not take what is named no longer
    EXPECT_THAT(keeper_->kept, SizeIs(2));
    PushAndKill(first + 30, first + 59, {"at:after remove"});
    EXPECT_THAT(keeper_->kept, SizeIs(1));
    Check(first + 59);
    keeper_->kept.clear();
  }
}

TEST_F(KeptMemoryTest, TheNextProcessTakesWhatACleanEndLeaves) {
  PushAndKill(1, 20);
  keeper_->follows = true;
  Check(20);
  EXPECT_FALSE(FileExists(NamePath()));
  EXPECT_TRUE(FileExists(SavedPath()));
  ASSERT_THAT(keeper_->kept, SizeIs(1));
  const std::string name = keeper_->kept.begin()->first;
  EXPECT_EQ(WhyUseless(name, keeper_->kept.begin()->second.get()), "");
  PushAndKill(21, 40);
  EXPECT_TRUE(FileExists(NamePath()));
  EXPECT_FALSE(FileExists(SavedPath()));
  EXPECT_EQ(keeper_->kept.begin()->first, name);
  EXPECT_THAT(keeper_->kept, SizeIs(1));
  Check(40);
}

TEST_F(KeptMemoryTest, WhatWasLeftIsNotTakenAfterAnotherServerHasWritten) {
  PushAndKill(1, 20);
  keeper_->follows = true;
  Check(20);
  const std::string left = ReadTextFile(SavedPath());
  StoreOptions old = options_;  // Stands for a version without keepers.
  old.keeper = nullptr;
  old.kept_memory_dir.clear();
  {
    Store store(old);
    ApplyRandom(store, store.FindTable("emb"), 21, 30);
  }
  WriteFileAtomically(SavedPath(), left);  // The version leaves this file.
  EXPECT_EQ(keeper_->kept.size(), 1U);
  Check(30);
  EXPECT_EQ(keeper_->kept.size(), 2U);  // the memory with 20 pushes is useless
}

TEST_F(KeptMemoryTest, BothNamesAreLeftByAKillAndTheFirstCounts) {
  PushAndKill(1, 20);
  const std::string name = ReadTextFile(NamePath());
  keeper_->follows = true;
  Check(20);
  WriteFileAtomically(NamePath(), name);  // A kill before this is removed leaves it.
  PushAndKill(21, 30);
  EXPECT_FALSE(FileExists(SavedPath()));
  Check(30);
}

TEST_F(KeptMemoryTest, MissingMemoryIsReportedAndTablesAreReadOnly) {
  PushAndKill(1, 5);
  keeper_->kept.clear();
  Store store(options_);
  ASSERT_THAT(store.damage(), SizeIs(1));
  EXPECT_THAT(store.damage()[0], AllOf(HasSubstr("of the service manager"),
                                       HasSubstr("rows are as of the last write-back")));
  EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr("was removed"));
}

TEST_F(KeptMemoryTest, AfterARestartOfTheMachineItIsNotMissed) {
  PushAndKill(1, 5);
  keeper_->kept.clear();
  std::vector<std::string> lines = Split(ReadTextFile(NamePath()), '\n');
  lines.at(3) = "another boot";
  WriteFileAtomically(NamePath(), Join(lines, "\n"));
  const Store store(options_);
  EXPECT_THAT(store.damage(), IsEmpty());
}

TEST_F(KeptMemoryTest, ADatabaseFromABackupRefusesLaterMemory) {
  ExpectABackupIsRefused({"written"});
}

TEST_F(KeptMemoryTest, ADatabaseFromABackupRefusesLaterMemoryInANamedDirectory) {
  options_.keeper = nullptr;
  ExpectABackupIsRefused({"written", "old"});
}

TEST_F(KeptMemoryTest, MemoryThatIsNamedAlreadyIsNotNamedAgain) {
  options_.keeper = nullptr;
  PushAndKill(1, 10, {"old"});
  const auto before = fs::last_write_time(NamePath());
  PushAndKill(11, 20, {"old"});
  EXPECT_EQ(fs::last_write_time(NamePath()), before);
  Check(20);
}

TEST_F(KeptMemoryTest, MemoryOfAnotherDatabaseStaysForIt) {
  PushAndKill(1, 10);
  StoreOptions other = options_;
  other.directory += "-other";
  {
    const Store store(other);
    EXPECT_THAT(store.tables(), IsEmpty());
  }
  ASSERT_THAT(keeper_->kept, SizeIs(1));
  const auto& [name, fd] = *keeper_->kept.begin();
  EXPECT_EQ(WhyUseless(name, fd.get()), "");
  Check(10);
}

TEST_F(KeptMemoryTest, OtherOptionsMoveItToTheDisk) {
  PushAndKill(1, 10);
  StoreOptions power = options_;
  power.durability = Durability::kPower;
  EXPECT_EQ(Check(10, power), "");
  EXPECT_THAT(keeper_->kept, IsEmpty());
  PushAndKill(11, 20);
  StoreOptions bounded = options_;
  bounded.memory_bytes = 1 << 20;
  EXPECT_EQ(Check(20, bounded), "");
  EXPECT_THAT(keeper_->kept, IsEmpty());
}

TEST_F(KeptMemoryTest, AServerWithoutAKeeperDoesNotTakeItForRemoved) {
  PushAndKill(1, 10);
  StoreOptions alone = options_;
  alone.keeper = nullptr;
  alone.kept_memory_dir.clear();
  EXPECT_THAT(Failure([&] { Store store(alone); }),
              AllOf(HasSubstr("unavailable: "), HasSubstr("start it through systemd"),
                    HasSubstr("remove " + NamePath())));
  Check(10);
}

TEST_F(KeptMemoryTest, AnUpgradeTakesTheNamedDirectoryAndTheNextCleanStartTheKeeper) {
  PushAndKill(1, 10, {"old"});
  EXPECT_THAT(keeper_->kept, IsEmpty());
  PushAndKill(11, 20);
  EXPECT_THAT(Check(20), StartsWith(NamedDirectory()));
  EXPECT_THAT(Check(20), StartsWith("/proc/"));
  // The old version follows a clean end, and continues with the database.
  PushAndKill(21, 30);
  keeper_->follows = true;
  Check(30);
  StoreOptions old = options_;
  old.keeper = nullptr;
  old.kept_memory_dir.clear();
  EXPECT_THAT(Check(30, old), StartsWith(NamedDirectory()));
}

// Descriptors that are not the memory of this store.
TEST_F(KeptMemoryTest, ForeignDescriptorsAreRefused) {
  PushAndKill(1, 10);
  const std::string name = keeper_->kept.begin()->first;
  UniqueFd good = std::move(keeper_->kept[name]);
  const std::string directory = StrCat("/proc/", ::getpid(), "/fd/", good.get(), "/.");
  const auto open = [&] { return Failure([&] { Store store(options_); }); };
  const auto pass = [&](UniqueFd fd) { keeper_->kept[name] = std::move(fd); };
  const auto pass_good = [&] { pass(UniqueFd(::dup(good.get()))); };

  pass(UniqueFd(::memfd_create("foreign", 0)));
  EXPECT_THAT(open(), HasSubstr("can't be trusted"));
  const ScratchDirectory disk("/var/tmp");
  pass(UniqueFd(::open(disk.path().c_str(), O_RDONLY | O_DIRECTORY)));
  EXPECT_THAT(open(), HasSubstr("not in a tmpfs"));
  const MemoryDirectory other;
  fs::copy(directory, other.path(), fs::copy_options::recursive);
  WriteFileAtomically(other / "owner", "graphd-memory 1\n00\n" + options_.directory);
  pass(UniqueFd(::open(other.path().c_str(), O_RDONLY | O_DIRECTORY)));
  EXPECT_THAT(open(), HasSubstr("is not the one that this server made"));
  pass_good();
  ASSERT_EQ(::fchmod(good.get(), 0777), 0);
  EXPECT_THAT(open(), HasSubstr("can be written by other users"));
  ASSERT_EQ(::fchmod(good.get(), 0700), 0);
  ASSERT_EQ(::fchown(good.get(), 1, 1), 0);
  EXPECT_THAT(open(), HasSubstr("belongs to user 1"));
  ASSERT_EQ(::fchown(good.get(), 0, 0), 0);
  const std::string owner = ReadTextFile(directory + "/owner");
  const ScratchDirectory database;  // has all rows
  fs::create_directory(database / "pages");
  for (const std::string& text : {std::string(), "graphd-memory 9\na\n" + database.path(),
                                  std::string(60000, 'x'), std::string("graphd-memory 1")}) {
    WriteFileAtomically(directory + "/owner", text);
    EXPECT_THAT(open(), HasSubstr("is not the one that this server made"));
    EXPECT_THAT(WhyUseless(name, good.get()), HasSubstr("another version"));
  }
  // Memory of any version stays for a database that can't be reached.
  WriteFileAtomically(directory + "/owner", "graphd-memory 9\na\n/nowhere");
  EXPECT_EQ(WhyUseless(name, good.get()), "");
  WriteFileAtomically(directory + "/owner", owner);
  Check(10);
}

// A copy is made because the store's disk has failed, so that nothing can be written there.
TEST_F(KeptMemoryTest, ACopyTakesItsPlaceWithoutAnyChangeOfTheStoresDirectory) {
  PushAndKill(1, 20);
  const auto& [name, fd] = *keeper_->kept.begin();
  const PrivateTmpfs small("size=8k");
  EXPECT_THAT(
      Failure([&, &name = name, &fd = fd] { CopyToNamedMemory(name, fd.get(), small.path()); }),
      HasSubstr(small.path()));
  EXPECT_TRUE(fs::is_empty(small.path()));
  ASSERT_EQ(::mount(options_.directory.c_str(), options_.directory.c_str(), "", MS_BIND, nullptr),
            0);
  const int read_only =
      ::mount("", options_.directory.c_str(), "", MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr);
  size_t calls = 0;
  const std::string copy =
      CopyToNamedMemory(name, fd.get(), kDefaultMemoryDir, [&calls] { calls++; });
  ASSERT_EQ(::umount2(options_.directory.c_str(), MNT_DETACH), 0);
  ASSERT_EQ(read_only, 0);
  EXPECT_THAT(copy, StartsWith(kDefaultMemoryDir));
  EXPECT_GE(calls, 1U);
  keeper_->kept.clear();
  PushAndKill(21, 30);
  EXPECT_THAT(keeper_->kept, IsEmpty());
  EXPECT_EQ(Check(30), copy);
  EXPECT_FALSE(FileExists(copy));
}

TEST_F(KeptMemoryTest, ACopyIsNotTakenForMemoryThatWasUsedSince) {
  PushAndKill(1, 20);
  const std::string copy = CopyToNamedMemory(
      keeper_->kept.begin()->first, keeper_->kept.begin()->second.get(), kDefaultMemoryDir);
  PushAndKill(21, 30);  // gets the descriptor all the same
  EXPECT_FALSE(FileExists(copy));
  keeper_->kept.clear();
  const Store store(options_);
  EXPECT_THAT(store.damage(), SizeIs(1));
}

TEST_F(KeptMemoryTest, ACopyThatNobodyNamesIsRemoved) {
  PushAndKill(1, 20);
  const std::string copy = CopyToNamedMemory(
      keeper_->kept.begin()->first, keeper_->kept.begin()->second.get(), kDefaultMemoryDir);
  keeper_->kept.clear();
  fs::remove(NamePath());
  const Store store(options_);
  EXPECT_THAT(keeper_->kept, SizeIs(1));
  EXPECT_FALSE(FileExists(copy));
}

TEST_F(KeptMemoryTest, AStoreThatCanNotBeReadMayNeedIt) {
  PushAndKill(1, 20);
  const auto& [name, fd] = *keeper_->kept.begin();
  const auto expect_kept = [&, &name = name, &fd = fd](const std::string& why) {
    EXPECT_THAT(Failure([&, &name = name, &fd = fd] {
                  CopyToNamedMemory(name, fd.get(), kDefaultMemoryDir);
                }),
                HasSubstr(why));
    EXPECT_EQ(WhyUseless(name, fd.get()), "");
  };
  const std::string elsewhere = options_.directory + "-moved";
  fs::rename(options_.directory, elsewhere);
  expect_kept("is the directory mounted?");
  fs::create_directories(options_.directory);  // like a mount point
  expect_kept("is the directory mounted?");
  fs::remove(options_.directory);
  fs::rename(elsewhere, options_.directory);
  const std::string text = ReadTextFile(NamePath());
  WriteFileAtomically(NamePath(), "graphd-memory 9\nof a later version");
  expect_kept("another version");
  WriteFileAtomically(NamePath(), text);
  Check(20);
}

TEST_F(KeptMemoryTest, WriteBackThatIsEndedLeavesTheMemoryNamed) {
  {
    Store store(options_);
    ApplyRandom(store, store.OpenTable(Spec()), 1, 20);
    store.EndWriteBack();
  }
  EXPECT_TRUE(FileExists(NamePath()));
  ASSERT_THAT(keeper_->kept, SizeIs(1));
  const std::string copy = CopyToNamedMemory(
      keeper_->kept.begin()->first, keeper_->kept.begin()->second.get(), kDefaultMemoryDir);
  keeper_->kept.clear();
  EXPECT_EQ(Check(20), copy);
}

TEST_F(KeptMemoryTest, MemoryThatFailsOnceTheKeeperHasItIsReturned) {
  const PrivateTmpfs small("size=8k");  // no room for all undo logs
  options_.kept_memory_dir = small.path();
  const Store store(options_);
  EXPECT_THAT(store.status().memory, StartsWith(NamedDirectory()));
  EXPECT_THAT(keeper_->kept, IsEmpty());
  EXPECT_TRUE(fs::is_empty(small.path()));
}

TEST_F(KeptMemoryTest, GoneMemoryIsForgottenAlsoIfThereIsNoOther) {
  PushAndKill(1, 5);
  keeper_->kept.clear();
  keeper_->refusal = "it is full";
  options_.memory_dir.clear();
  { const Store store(options_); }
  EXPECT_FALSE(FileExists(NamePath()));
  const Store store(options_);
  EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr("was removed"));
}

TEST_F(KeptMemoryTest, AFullPrivateTmpfsIsOverloadedAndNamesTheRemedy) {
  Store store(options_);
  TableSpec spec = Spec();
  spec.name = "large";
  spec.rows = 20'000'000;  // with its state 960 MB
  spec.first_id = 0;
  const auto large = store.OpenTable(spec);
  EXPECT_THAT(
      Failure([&] {
        for (int64_t row = 0; row < spec.rows; row += 64) large->Touch({&row, 1});
      }),
      AllOf(HasSubstr("overloaded: "), HasSubstr("TemporaryFileSystem="), HasSubstr("(256 MiB)")));
}

}  // namespace
}  // namespace graphd::store
