// SPDX-License-Identifier: Apache-2.0
#include "store/persistent_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using namespace graphd::store::testing;
using graphd::testing::MemoryDirectory;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kStore = "PERSISTENT_ARENA_TEST_STORE";
constexpr const char* kMemory = "PERSISTENT_ARENA_TEST_MEMORY";

void Kill() { ::kill(::getpid(), SIGKILL); }

class PersistentArenaTest : public ::testing::Test {
 protected:
  PersistentArenaTest() {
    if (in_child()) {
      options_.directory = std::getenv(kStore);
      options_.memory_dir = std::getenv(kMemory);
    } else {
      own_ = std::make_unique<Own>();
      options_ = Options(own_->scratch);
      options_.memory_dir = own_->memory.path();
    }
    options_.log_segment_bytes = 20000;  // two pushes
  }
  static bool in_child() { return std::getenv(kStore) != nullptr; }

  // Runs `work` in a process that is then killed. The process runs the same test again, since
  // RocksDB's threads do not survive a fork; so code before this call in a test runs twice.
  void InKilledProcess(const std::function<void()>& work) const {
    if (in_child()) {
      try {
        work();
      } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        ::_exit(1);
      }
      ::_exit(2);
    }
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter =
        StrCat("--gtest_filter=", test->test_suite_name(), ".", test->name());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::setenv(kStore, options_.directory.c_str(), 1);
      ::setenv(kMemory, options_.memory_dir.c_str(), 1);
      for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) ::unsetenv(name);
      ::execl("/proc/self/exe", "store_test", filter.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
  }
  // Returns the rows after pushes 1 to `last`.
  std::vector<float> RowsAt(uint64_t last) {
    if (in_child()) return {};
    const auto table = own_->reference.OpenTable(Spec());
    while (in_reference_ < last) {
      in_reference_++;
      ApplyRandom(own_->reference, table, in_reference_, in_reference_);
    }
    return AllRows(*table);
  }
  void PushAndKill(uint64_t last) {
    InKilledProcess([&] {
      Store store(options_);
      ApplyRandom(store, store.OpenTable(Spec()), 1, last);
      Kill();
    });
  }
  // Returns the path of the only directory in memory_dir.
  std::string DirectoryLeft() const { return fs::directory_iterator(options_.memory_dir)->path(); }

  StoreOptions options_;

 private:
  struct Own {
    const ScratchDirectory scratch, reference_scratch;
    const MemoryDirectory memory;
    Store reference{Options(reference_scratch)};
  };
  std::unique_ptr<Own> own_;  // null in the child, whose destructors never run
  uint64_t in_reference_ = 0;
};

TEST_F(PersistentArenaTest, RowsSurviveTheProcessAlthoughTheLogIsTruncated) {
  InKilledProcess([&] {
    Store store(options_);
    ApplyRandom(store, store.OpenTable(Spec()), 1, 50);
    if (store.status().log_bytes > 100000) throw std::runtime_error("the log was not truncated");
    Kill();
  });
  {
    Store store(options_);
    EXPECT_TRUE(store.damage().empty());
    EXPECT_EQ(store.status().memory, DirectoryLeft());
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(50));
    ApplyRandom(store, store.FindTable("emb"), 40, 50);  // repeated pushes
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(50));
    ApplyRandom(store, store.FindTable("emb"), 51, 60);
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(60));
  }
  EXPECT_TRUE(fs::is_empty(options_.memory_dir));
  options_.memory_dir = "";
  Store store(options_);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(60));
}

// Several threads copy these pushes to the log and apply them.
TEST_F(PersistentArenaTest, LargePushesOfSeveralClientsSurviveTheProcess) {
  const auto apply = [](Store& store, uint64_t client) {
    const auto begin = static_cast<int64_t>(client - 1) * kRows / 2;
    const auto table = store.OpenTable(Spec());
    for (uint64_t i = 1; i <= 8; i++) {
      // 24 KB each, or 600.
      const size_t count = i % 2 == 0 ? 1000 : 25000;
      store.Apply(
          table,
          RandomPush(client, i, kAdagrad, count, begin, begin + kRows / 2, kElements).push());
    }
  };
  InKilledProcess([&] {
    Store store(options_);
    std::thread other(apply, std::ref(store), 2);
    apply(store, 1);
    other.join();
    Kill();
  });
  const ScratchDirectory scratch;
  Store store(options_), one_by_one(Options(scratch));
  for (const uint64_t client : {1, 2}) apply(one_by_one, client);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), AllRows(*one_by_one.FindTable("emb")));
}

TEST_F(PersistentArenaTest, UnfinishedChangesAreRolledBack) {
  PushAndKill(20);
  {
    const auto left = PersistentArena::Find(options_.directory, 1, nullptr);
    const Arena::Files files = left->FilesOf(1, /*kept=*/true);
    Arena arena("again", {kRows, kElements * sizeof(float), kElements}, &files);
    const auto spoil = [&](int64_t row) {
      const std::vector<float> junk(kElements, 1e9F);
      arena.Write(row, reinterpret_cast<const std::byte*>(junk.data()));
      *arena.state(row) = -1;
    };
    // On page 3, two rows were changed, and a third was about to be changed.
    arena.Lock(3);
    UndoLog& undo = left->undo_log(0);
    undo.Begin(1, 3, arena.lsn(3), kElements * sizeof(float), kElements * sizeof(float));
    for (const int64_t row : {200, 207, 208}) {
      undo.Save(row, arena.value(row), reinterpret_cast<const std::byte*>(arena.state(row)));
      if (row != 208) spoil(row);
    }
    arena.SetLsn(3, 1000);
    // Page 5 had just been changed completely.
    arena.Lock(5);
  }
  Store store(options_);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(20));
  ApplyRandom(store, store.FindTable("emb"), 21, 30);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(30));
}

TEST_F(PersistentArenaTest, AfterAMachineRestartRowsAreAsLastWrittenBack) {
  InKilledProcess([&] {
    Store store(options_);
    const auto table = store.OpenTable(Spec());
    ApplyRandom(store, table, 1, 10);
    store.WriteBackNow();
    ApplyRandom(store, table, 11, 30);
    Kill();
  });
  fs::remove_all(DirectoryLeft());
  for (int time = 0; time < 2; time++) {
    Store store(options_);
    EXPECT_TRUE(store.damage().empty());
    EXPECT_EQ(store.TroubleOf(*store.FindTable("emb")), "");
    if (time == 0) {
      EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(10));
    }
    // Each push is applied, although pages may have seen its sequence number before.
    ApplyRandom(store, store.FindTable("emb"), time == 0 ? 11 : 21, time == 0 ? 20 : 30);
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(time == 0 ? 20 : 30));
  }
}

TEST_F(PersistentArenaTest, AnotherDurabilityMovesItToTheDiskFirst) {
  for (const bool bounded : {false, true}) {
    fs::remove_all(options_.directory);
    PushAndKill(20);
    StoreOptions other = options_;
    if (bounded) {
      other.memory_bytes = 1 << 20;
    } else {
      other.durability = Durability::kPower;
      other.memory_dir = "";
    }
    const Store store(other);
    EXPECT_EQ(store.status().memory, "");
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(20));
    EXPECT_TRUE(fs::is_empty(options_.memory_dir));
  }
}

TEST_F(PersistentArenaTest, TablesAreCreatedDroppedAndGivenState) {
  const std::vector<float> at_first = RowsAt(0);
  InKilledProcess([&] {
    Store store(options_);
    store.OpenTable(Spec("other"));
    const auto table = store.OpenTable(Spec("emb", OptimizerState::kNone));
    table->Touch(std::vector<int64_t>{1, 500});
    store.AddState(table, OptimizerState::kAdagrad);
    ApplyRandom(store, table, 1, 20);
    store.DropTable("other");
    store.OpenTable(Spec("late"));
    Kill();
  });
  EXPECT_FALSE(FileExists(DirectoryLeft() + "/table-1.rows"));
  Store store(options_);
  EXPECT_EQ(store.tables().size(), 2U);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(20));
  EXPECT_EQ(AllRows(*store.FindTable("late")), at_first);
}

TEST_F(PersistentArenaTest, AMissingFileIsReportedAndTheTableIsReadOnly) {
  InKilledProcess([&] {
    Store store(options_);
    const auto table = store.OpenTable(Spec());
    ApplyRandom(store, table, 1, 10);
    store.WriteBackNow();
    ApplyRandom(store, table, 11, 20);
    Kill();
  });
  fs::remove(DirectoryLeft() + "/table-1.lsns");
  Store store(options_);
  ASSERT_EQ(store.damage().size(), 1U);
  EXPECT_THAT(store.damage()[0], HasSubstr("table 'emb': its memory was kept, but"));
  EXPECT_THAT(Failure([&] { ApplyRandom(store, store.FindTable("emb"), 21, 21); }),
              HasSubstr("corrupt: table 'emb' can't be written"));
}

TEST_F(PersistentArenaTest, AbandonedMemoryIsRemovedAndMemoryInUseStays) {
  PushAndKill(5);
  const std::string old = DirectoryLeft();
  fs::remove_all(options_.directory);  // a new store is created
  Store store(options_);
  EXPECT_FALSE(FileExists(old));
  EXPECT_EQ(store.tables().size(), 0U);
  EXPECT_THAT(Failure([&] { PersistentArena::Find(options_.directory, 1, nullptr); }),
              HasSubstr("exists: "));
}

TEST_F(PersistentArenaTest, AMovedStoreDoesNotLoseItsMemory) {
  PushAndKill(20);
  const std::string home = options_.directory;
  options_.directory += "-moved";
  fs::rename(home, options_.directory);
  EXPECT_THAT(Failure([&] { Store store(options_); }), HasSubstr("belongs to " + home));
  fs::rename(options_.directory, home);
  options_.directory = home;
  EXPECT_EQ(AllRows(*Store(options_).FindTable("emb")), RowsAt(20));
}

TEST_F(PersistentArenaTest, AFullFileSystemIsOverloaded) {
  const ScratchDirectory small;
  ASSERT_EQ(::mount("tmpfs", small.path().c_str(), "tmpfs", 0, "size=2m"), 0);
  options_.memory_dir = small.path();
  {
    Store store(options_);
    TableSpec spec = Spec();
    spec.name = "large";
    spec.rows = 100'000;  // with its state 4.8 MB
    const auto large = store.OpenTable(spec);
    for (const auto& touch : std::initializer_list<std::function<void()>>{
             [&] { AllRows(*large); }, [&] { store.OpenTable(Spec()); }}) {
      EXPECT_THAT(Failure(touch),
                  AllOf(HasSubstr("overloaded: "), HasSubstr("no memory for another"),
                        HasSubstr(small.path() + " is full (2.0 MiB)"),
                        HasSubstr("mount -o remount,size=... " + small.path()),
                        HasSubstr("--memory_dir"), HasSubstr("--embedding_memory")));
    }
    store.DropTable("large");
  }
  {
    Store store(options_);
    ApplyRandom(store, store.OpenTable(Spec()), 1, 3);
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(3));
  }
  EXPECT_EQ(::umount(small.path().c_str()), 0);
}

}  // namespace
}  // namespace graphd::store
