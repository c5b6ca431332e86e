// SPDX-License-Identifier: Apache-2.0
#include "store/persistent_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/support/no_descriptors.h"
#include "tests/support/small_disk.h"
#include "tests/unit/store/await_child.h"
#include "tests/unit/store/child_environment.h"
#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using namespace graphd::store::testing;
using graphd::testing::MemoryDirectory;
using graphd::testing::NoDescriptors;
using graphd::testing::ScratchDirectory;
using graphd::testing::SmallDisk;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Calls f until it returns a text, and returns that.
std::string WaitFor(const std::function<std::string()>& f) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (std::string text = f(); !text.empty()) return text;
    ::usleep(10'000);
  }
  throw std::runtime_error("nothing happened within 20 s");
}

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
    testing::ChildEnvironment environment;
    environment.Set(kStore, options_.directory);
    environment.Set(kMemory, options_.memory_dir);
    char** variables = environment.data();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execle("/proc/self/exe", "store_test", filter.c_str(), nullptr, variables);
      ::_exit(127);
    }
    const int status = testing::AwaitChild(child);
    ASSERT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL) << "its status is " << status;
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
  void RemoveUnderALivingServer(bool killed);
  // Replaces a line of the file that names the memory: 1 directory, 2 random number, 3 tmpfs.
  void ChangeName(size_t line, const std::string& text) const {
    const std::string path = options_.directory + "/memory";
    std::vector<std::string> lines = Split(ReadTextFile(path), '\n');
    lines.at(line) = text;
    WriteFileAtomically(path, Join(lines, "\n"));
  }
  // Waits until the store has trouble, and returns it.
  static std::string WaitForTrouble(const Store& store) {
    return WaitFor([&] { return store.trouble(); });
  }
  // Waits until all is in RocksDB, and the memory is no longer needed.
  void WaitUntilForgotten() const {
    WaitFor([&] { return FileExists(options_.directory + "/memory") ? "" : "forgotten"; });
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

// The state in the memory names all of them.
TEST_F(PersistentArenaTest, AsManyClientsAsAreRememberedMayHavePushed) {
  InKilledProcess([&] {
    Store store(options_);
    const auto table = store.OpenTable(Spec());
    std::atomic<size_t> done{0};
    for (size_t i = 0; i < ClientTable::kMaxClients;) {
      Push push;
      push.rule = kAdagrad;
      push.client = {i, 1};
      push.sequence = i + 1;
      try {
        store.Submit(table, push, [&](const Error*) { done++; });
        i++;
      } catch (const Error&) {  // too many wait
        ::usleep(100);
      }
    }
    while (done < ClientTable::kMaxClients) ::usleep(1000);
    store.WriteBackNow();
    Kill();
  });
  const Store store(options_);
  for (const size_t i : {size_t{0}, ClientTable::kMaxClients - 1}) {
    EXPECT_EQ(store.LastSequence({i, 1}), i + 1);
  }
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

// A process is killed while it changes page 3, and somebody truncates its undo log.
TEST_F(PersistentArenaTest, ADamagedUndoLogMakesTheTableThatWasChangedReadOnly) {
  struct Case {
    std::string what;
    std::function<void(const std::string&)> damage;
  };
  const auto cut = [](uint64_t to, bool resized) {
    return [=](const std::string& path) {
      const uint64_t size = fs::file_size(path);
      fs::resize_file(path, to);
      if (resized) fs::resize_file(path, size);
    };
  };
  const std::vector<Case> cases = {
      {"truncated to nothing", cut(0, false)},
      {"truncated and extended", cut(0, true)},
      {"truncated in the header", cut(40, true)},
      {"truncated in the rows", cut(4096 + 70, false)},
      {"truncated in the rows and extended", cut(4096 + 70, true)},
      {"removed", [](const std::string& path) { fs::remove(path); }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    fs::remove_all(options_.directory);
    InKilledProcess([&] {
      Store store(options_);
      ApplyRandom(store, store.OpenTable(Spec()), 1, 20);
      store.OpenTable(Spec("other"));
      Kill();
    });
    {
      const auto left = PersistentArena::Find(options_.directory, 1, nullptr);
      EXPECT_EQ(left->UndoDamage(), "");
      const Arena::Files files = left->FilesOf(1, /*kept=*/true);
      Arena arena("again", {kRows, kElements * sizeof(float), kElements}, &files);
      arena.Lock(3);
      UndoLog& undo = left->undo_log(0);
      undo.Begin(1, 3, arena.lsn(3), kElements * sizeof(float), kElements * sizeof(float));
      for (const int64_t row : {200, 207}) {
        undo.Save(row, arena.value(row), reinterpret_cast<const std::byte*>(arena.state(row)));
      }
    }
    const std::string path = DirectoryLeft() + "/undo-0";
    each.damage(path);
    {
      Store store(options_);
      EXPECT_THAT(store.damage(),
                  ElementsAre(AllOf(HasSubstr(path), HasSubstr("rows 192 to 255"))));
      EXPECT_TRUE(FileExists(DirectoryLeft() + "/damaged-undo-0"));
      EXPECT_THAT(Failure([&] { ApplyRandom(store, store.FindTable("emb"), 21, 21); }),
                  AllOf(HasSubstr("corrupt: table 'emb' can't be written"), HasSubstr(path),
                        HasSubstr("restore a checkpoint, or drop it")));
      EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(20));
      EXPECT_EQ(store.TroubleOf(*store.FindTable("other")), "");
      ApplyRandom(store, store.FindTable("other"), 22, 23);
    }
    Store store(options_);
    EXPECT_TRUE(store.damage().empty());
    EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr(path));
  }
}

// No row was being changed, so that nothing is lost; but the damage is reported.
TEST_F(PersistentArenaTest, ADamagedUndoLogWithoutAChangeIsReportedAndSetAside) {
  for (const char* const name : {"/undo-0", "/undo-1"}) {
    fs::remove_all(options_.directory);
    PushAndKill(20);
    const std::string path = DirectoryLeft() + name;
    fs::resize_file(path, 0);
    Store store(options_);
    EXPECT_THAT(store.damage(), ElementsAre(AllOf(HasSubstr(path + " was truncated to 0 bytes"),
                                                  HasSubstr("nothing is lost"))));
    EXPECT_TRUE(FileExists(StrCat(DirectoryLeft(), "/damaged-", name + 1)));
    ApplyRandom(store, store.FindTable("emb"), 21, 30);
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(30));
  }
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
  ChangeName(3, "another tmpfs");
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

// A process may be killed before it removes them, or be unable to.
TEST_F(PersistentArenaTest, FilesOfDroppedTablesAreRemovedByTheNextProcess) {
  InKilledProcess([&] {
    Store store(options_);
    ApplyRandom(store, store.OpenTable(Spec()), 1, 20);
    const auto table = store.OpenTable(Spec("dropped"));
    fs::create_directory(DirectoryLeft() + "/table-2.blocked");  // not a file
    store.DropTable("dropped");
    store.IsDropped(*table) && store.tables().size() == 1 ? Kill() : ::_exit(1);
  });
  fs::remove(DirectoryLeft() + "/table-2.blocked");
  std::ofstream(DirectoryLeft() + "/table-2.rows");
  const Store store(options_);
  EXPECT_FALSE(FileExists(DirectoryLeft() + "/table-2.rows"));
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(20));
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

// The machine was not restarted: somebody has removed what was acknowledged.
TEST_F(PersistentArenaTest, MemoryThatWasRemovedIsReportedAndTablesAreReadOnly) {
  InKilledProcess([&] {
    Store store(options_);
    const auto table = store.OpenTable(Spec());
    ApplyRandom(store, table, 1, 10);
    store.WriteBackNow();
    ApplyRandom(store, table, 11, 20);
    Kill();
  });
  const std::string removed = DirectoryLeft();
  fs::remove_all(removed);
  for (int time = 0; time < 2; time++) {
    Store store(options_);
    if (time == 0) {
      EXPECT_THAT(store.damage(), ElementsAre(AllOf(HasSubstr(removed), HasSubstr("was removed"))));
    }
    EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr(removed));
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(10));
    EXPECT_THAT(Failure([&] { ApplyRandom(store, store.FindTable("emb"), 21, 21); }),
                HasSubstr("corrupt: table 'emb' can't be written"));
  }
}

// Removes the memory under a store, which is then closed, or killed.
void PersistentArenaTest::RemoveUnderALivingServer(bool killed) {
  InKilledProcess([&] {
    {
      Store store(options_);
      const auto table = store.OpenTable(Spec());
      ApplyRandom(store, table, 1, 10);
      const std::vector<float> rows = AllRows(*table);
      const std::string directory = DirectoryLeft();
      fs::remove_all(directory);
      const std::string error = Failure([&] { ApplyRandom(store, table, 11, 11); });
      const std::string again = Failure([&] { ApplyRandom(store, table, 11, 11); });
      if (error.find(directory) == error.npos || again.find(directory) == again.npos ||
          again.find("rows can be read. Restart the server") == again.npos ||
          store.trouble().find(directory) == std::string::npos) {
        throw std::runtime_error(StrCat(error, "\n", again, "\n", store.trouble()));
      }
      WaitUntilForgotten();
      if (AllRows(*table) != rows) throw std::runtime_error("rows can't be read");
      if (killed) Kill();
    }
    Kill();
  });
  Store store(options_);
  EXPECT_TRUE(store.damage().empty());
  EXPECT_EQ(store.TroubleOf(*store.FindTable("emb")), "");
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(10));
  ApplyRandom(store, store.FindTable("emb"), 9, 12);  // two of them are repeated
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(12));
}

TEST_F(PersistentArenaTest, ADirectoryRemovedUnderALivingServerLosesNothing) {
  RemoveUnderALivingServer(/*killed=*/false);
}

TEST_F(PersistentArenaTest, ADirectoryRemovedUnderAServerThatIsKilledLaterLosesNothing) {
  RemoveUnderALivingServer(/*killed=*/true);
}

TEST_F(PersistentArenaTest, AFileRemovedUnderALivingServerLosesNothing) {
  for (const char* const file : {"table-1.rows", "table-1.lsns", "table-1.state6"}) {
    SCOPED_TRACE(file);
    fs::remove_all(options_.directory);
    {
      Store store(options_);
      const auto table = store.OpenTable(Spec());
      ApplyRandom(store, table, 1, 10);
      fs::remove(StrCat(DirectoryLeft(), "/", file));
      EXPECT_THAT(WaitForTrouble(store), HasSubstr(file));
      WaitUntilForgotten();
    }
    Store store(options_);
    EXPECT_TRUE(store.damage().empty());
    EXPECT_EQ(store.TroubleOf(*store.FindTable("emb")), "");
    EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(10));
  }
}

// One push fails while it is applied. It is in a part of the rows, and must not be in RocksDB: the
// client sends it again. All other rows are saved although the memory is gone, too.
TEST_F(PersistentArenaTest, AfterAFailedPushTheOtherRowsAreSaved) {
  options_.threads = 1;
  {
    Store store(options_);
    const auto table = store.OpenTable(Spec());
    const auto other = store.OpenTable(Spec("other"));
    ApplyRandom(store, other, 1, 10);
    ApplyRandom(store, table, 11, 20);
    const std::string directory = DirectoryLeft();
    fs::resize_file(directory + "/undo-0", 0);
    EXPECT_THAT(Failure([&] { ApplyRandom(store, table, 21, 21); }), HasSubstr("undo-0"));
    fs::remove_all(directory);
    WaitUntilForgotten();
    EXPECT_THAT(store.TroubleOf(*table), HasSubstr("a push failed"));
    EXPECT_EQ(store.TroubleOf(*other), "");
  }
  Store store(options_);
  EXPECT_EQ(AllRows(*store.FindTable("other")), RowsAt(10));
  EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr("a push failed"));
}

// Without a push, the thread that writes back notices it.
TEST_F(PersistentArenaTest, AForeignDirectoryInItsPlaceIsNoticedAndLeftAlone) {
  {
    Store store(options_);
    const auto table = store.OpenTable(Spec());
    ApplyRandom(store, table, 1, 10);
    const std::string directory = DirectoryLeft();
    fs::rename(directory, directory + "-moved");
    fs::create_directories(directory + "/log");
    EXPECT_THAT(WaitForTrouble(store), AllOf(HasSubstr(directory), HasSubstr("was replaced")));
    WaitUntilForgotten();
    EXPECT_THAT(Failure([&] { ApplyRandom(store, table, 11, 11); }),
                HasSubstr("nothing can be written"));
    EXPECT_THAT(Failure([&] { store.OpenTable(Spec("other")); }), HasSubstr("was replaced"));
    EXPECT_TRUE(fs::is_empty(directory + "/log"));
  }
  EXPECT_FALSE(fs::is_empty(options_.memory_dir));
  fs::remove_all(options_.memory_dir);
  fs::create_directory(options_.memory_dir);
  EXPECT_EQ(AllRows(*Store(options_).FindTable("emb")), RowsAt(10));
}

// Returns whether each row of `now` is that row at one of these times.
bool EachRowIsOneOf(const std::vector<float>& now, const std::vector<std::vector<float>>& times) {
  for (size_t row = 0; row < now.size(); row += kElements) {
    const auto same = [&](const std::vector<float>& other) {
      return std::equal(&now[row], &now[row] + kElements, &other[row]);
    };
    if (std::none_of(times.begin(), times.end(), same)) return false;
  }
  return true;
}

TEST_F(PersistentArenaTest, ATruncatedFileEndsNeitherTheProcessNorIsItTrusted) {
  const uint64_t values = ArenaValuesOffset(kRows);
  struct Case {
    const char* file;
    uint64_t size;
    bool loses_rows;
  };
  const Case cases[] = {
      {"table-1.rows", 0, true},      {"table-1.rows", values + 8192, true},
      {"table-1.lsns", 0, true},      {"table-1.state6", 0, true},
      {"table-1.state6", 4096, true}, {"undo-0", 0, false},
      {"log/log", 0, false},          {"log/log", 4096, false},
  };
  const std::vector<float> at_10 = RowsAt(10), at_20 = RowsAt(20), at_21 = RowsAt(21);
  options_.threads = 1;
  for (const auto& [file, size, loses_rows] : cases) {
    for (const bool pushes : {true, false}) {
      SCOPED_TRACE(
          StrCat(file, " ", size, pushes ? " noticed by a push" : " noticed by the thread"));
      fs::remove_all(options_.directory);
      {
        Store store(options_);
        const auto table = store.OpenTable(Spec());
        ApplyRandom(store, table, 1, 10);
        store.WriteBackNow();
        ApplyRandom(store, table, 11, 20);
        std::string path = StrCat(DirectoryLeft(), "/", file);
        for (const auto& entry : fs::directory_iterator(DirectoryLeft() + "/log")) {
          const std::string name = entry.path();
          if (path.ends_with("log/log") && name.find("/log-") != name.npos) path = name;
        }
        fs::resize_file(path, size);
        if (pushes) {
          EXPECT_THAT(Failure([&] { ApplyRandom(store, table, 21, 21); }),
                      AnyOf(HasSubstr("may be lost"), HasSubstr("nothing can be written")));
        }
        const std::string trouble = WaitForTrouble(store);
        EXPECT_THAT(trouble, HasSubstr(path));
        EXPECT_THAT(Failure([&] { ApplyRandom(store, table, 22, 22); }),
                    AnyOf(HasSubstr("nothing can be written"), HasSubstr("can't be written")));
        if (loses_rows) WaitFor([&] { return store.TroubleOf(*table); });
        const std::vector<float> now = AllRows(*table);
        if (std::string(file).ends_with(".rows")) {
          EXPECT_TRUE(EachRowIsOneOf(now, {at_10, at_20, at_21}));
        } else if (!pushes) {
          EXPECT_EQ(now, at_20);
        }
      }
      Store store(options_);
      const std::vector<float> now = AllRows(*store.FindTable("emb"));
      // The push that failed may be in the log.
      EXPECT_TRUE(now == (loses_rows ? at_10 : at_20) || (pushes && !loses_rows && now == at_21));
      EXPECT_EQ(store.TroubleOf(*store.FindTable("emb")).empty(), !loses_rows);
    }
  }
}

TEST_F(PersistentArenaTest, PagesBeforeOneThatCannotBeReadAreNotTakenForWritten) {
  Store store(options_);
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 10);
  const uint64_t changed = table->ChangedBytes();
  fs::resize_file(DirectoryLeft() + "/table-1.rows", ArenaValuesOffset(kRows) + 8192);
  EXPECT_THAT(Failure([&] { store.WriteBackNow(); }), HasSubstr("table-1.rows"));
  // The thread of the store may be trying the same just now.
  WaitFor([&] { return table->ChangedBytes() == changed ? "all" : ""; });
}

// The same when the process is killed before it notices.
TEST_F(PersistentArenaTest, FilesThatWereTruncatedAfterTheEndAreNotTrusted) {
  options_.log_segment_bytes = 1 << 20;  // the log is not truncated
  for (const bool resized : {false, true}) {
    for (const char* const file : {"table-1.rows", "table-1.lsns", "log/log"}) {
      SCOPED_TRACE(StrCat(file, resized ? " resized" : ""));
      fs::remove_all(options_.directory);
      InKilledProcess([&] {
        Store store(options_);
        const auto table = store.OpenTable(Spec());
        ApplyRandom(store, table, 1, 10);
        store.WriteBackNow();
        ApplyRandom(store, table, 11, 15);
        Kill();
      });
      for (const auto& entry : fs::recursive_directory_iterator(DirectoryLeft())) {
        const std::string path = entry.path();
        if (!path.starts_with(StrCat(DirectoryLeft(), "/", file))) continue;
        const uint64_t size = fs::file_size(path);
        fs::resize_file(path, 0);
        if (resized) fs::resize_file(path, size);
      }
      Store store(options_);
      ASSERT_EQ(store.damage().size(), 1U);
      EXPECT_THAT(store.damage()[0], HasSubstr(DirectoryLeft()));
      EXPECT_NE(store.TroubleOf(*store.FindTable("emb")), "");
      // The log, or the rows, have what RocksDB does not have.
      EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(15));
    }
  }
}

// Memory that another user or another server could have made is refused, and left as it is.
TEST_F(PersistentArenaTest, ForeignMemoryIsRefused) {
  PushAndKill(20);
  const std::string directory = DirectoryLeft(), owner = directory + "/owner";
  const std::string rows = directory + "/table-1.rows", name = options_.directory + "/memory";
  const auto open = [&] { return Failure([&] { Store store(options_); }); };
  const auto refused = [&](const std::string& what) {
    return AllOf(HasSubstr(directory), HasSubstr(what), HasSubstr("remove " + name));
  };
  fs::permissions(directory, fs::perms(0777));
  EXPECT_THAT(open(), refused("can be written by other users"));
  fs::permissions(directory, fs::perms(0700));
  fs::permissions(owner, fs::perms(0666));
  EXPECT_THAT(open(), refused("can be written by other users"));
  fs::permissions(owner, fs::perms(0600));

  fs::rename(directory, directory + "-moved");
  fs::create_directory_symlink(directory + "-moved", directory);
  EXPECT_THAT(open(), refused("is a link"));
  fs::remove(directory);
  fs::rename(directory + "-moved", directory);

  const std::string number = Split(ReadTextFile(name), '\n').at(2);
  ChangeName(2, "00");
  EXPECT_THAT(open(), refused("is not the one that this server made"));
  ChangeName(2, number);
  ChangeName(0, "graphd-memory 7");
  EXPECT_THAT(open(), HasSubstr("version: "));
  ChangeName(0, "graphd-memory 1");

  fs::rename(rows, rows + "-moved");
  fs::create_symlink(rows + "-moved", rows);
  EXPECT_THAT(open(), HasSubstr(rows + " is a link"));
  fs::remove(rows);
  fs::rename(rows + "-moved", rows);
  for (const std::string& path : {directory, owner, rows}) {
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    EXPECT_THAT(open(), HasSubstr(path + " belongs to user 1"));
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
  fs::permissions(options_.memory_dir, fs::perms(0777));
  StoreOptions another = options_;
  another.directory += "-another";
  EXPECT_THAT(Failure([&] { Store store(another); }), HasSubstr("chmod +t"));
  fs::permissions(options_.memory_dir, fs::perms(0700));
  EXPECT_EQ(AllRows(*Store(options_).FindTable("emb")), RowsAt(20));
}

TEST_F(PersistentArenaTest, AShortageOfDescriptorsEndsByItself) {
  Store store(options_);
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 3);
  std::thread writer;
  {
    const NoDescriptors shortage;
    writer = std::thread([&] { ApplyRandom(store, table, 4, 60); });
    EXPECT_THAT(WaitForTrouble(store), HasSubstr("Too many open files"));
  }
  writer.join();
  WaitFor([&] { return store.trouble().empty() ? "none" : ""; });
  EXPECT_EQ(AllRows(*table), RowsAt(60));
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

TEST_F(PersistentArenaTest, ATableForWhichThereIsNoMemoryTakesNone) {
  const SmallDisk small(120);
  options_.memory_dir = DirName(small / "x");
  options_.threads = 2;
  Store store(options_);
  ApplyRandom(store, store.OpenTable(Spec()), 1, 1);
  const uint64_t before = small.available();
  TableSpec wide = Spec("wide", OptimizerState::kNone);
  wide.row_shape = {1 << 18};  // a page has 64 MiB, and each thread saves a page that it changes
  EXPECT_THAT(Failure([&] { store.OpenTable(wide); }), HasSubstr("overloaded: "));
  store.WriteBackNow();
  EXPECT_GT(small.available() + (1 << 20), before);
  ApplyRandom(store, store.FindTable("emb"), 2, 3);
  EXPECT_EQ(AllRows(*store.FindTable("emb")), RowsAt(3));
  wide.rows = 8;  // all of its pages are smaller
  EXPECT_THAT(Failure([&] { store.OpenTable(wide); }), "no error");
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
    const auto touch_all = [&] {
      for (int64_t row = 0; row < spec.rows; row++) large->Touch({&row, 1});
    };
    for (const auto& use : std::initializer_list<std::function<void()>>{
             touch_all, [&] { store.OpenTable(Spec()); }}) {
      EXPECT_THAT(Failure(use), AllOf(HasSubstr("overloaded: "), HasSubstr("no memory for another"),
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
