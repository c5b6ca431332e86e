// SPDX-License-Identifier: Apache-2.0
#include "store/rows/table_preparer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <sstream>
#include <thread>

#include "base/strings.h"
#include "store/rows/initializer.h"
#include "store/store.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/await_child.h"
#include "tests/unit/store/child_environment.h"
#include "tests/unit/store/random_push.h"

namespace graphd::store {
namespace {

using graphd::testing::MemoryDirectory;
using graphd::testing::ScratchDirectory;

constexpr size_t kFloats = 128;
constexpr int64_t kLargeRows = 140'000;  // 68 MiB: the table gets huge pages and is prepared

TableSpec Spec(int64_t rows) {
  TableSpec spec;
  spec.name = "embedding";
  spec.row_shape = {static_cast<int64_t>(kFloats)};
  spec.rows = rows;
  spec.initializer = Initializer::Uniform(-1, 1, 5);
  spec.state = OptimizerState::kAdagrad;
  return spec;
}

StoreOptions OptionsIn(const ScratchDirectory& scratch, const std::string& memory_dir = "") {
  StoreOptions options;
  options.directory = scratch / "store";
  options.memory_dir = memory_dir;
  return options;
}

// Pushes gradients for random rows of the whole table.
void ApplyPush(Store& store, const std::shared_ptr<Table>& table, uint64_t number) {
  const UpdateRule rule{.kind = UpdateKind::kAdagrad, .lr = 0.1F};
  store.Apply(table, RandomPush(1, number, rule, 50, 0, table->spec().rows, kFloats).push());
}

std::vector<float> AllRows(Table& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.spec().rows));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> values(rows.size() * kFloats);
  table.Read(rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::vector<float> FirstRows(const TableSpec& spec) {
  std::vector<float> values(static_cast<size_t>(spec.rows) * kFloats);
  const auto bytes = std::as_writable_bytes(std::span(values));
  for (int64_t row = 0; row < spec.rows; row++) {
    FillRow(spec.initializer, spec.dtype, spec.first_id + row,
            bytes.subspan(static_cast<size_t>(row) * spec.row_bytes(), spec.row_bytes()));
  }
  return values;
}

bool IsPrepared(const Table& table) {
  if (table.is_preparing()) return false;
  for (uint64_t page = 0; page < table.arena().num_pages(); page++) {
    if ((table.arena().word(page).load() & kPageResident) == 0) return false;
  }
  return true;
}

void AwaitPrepared(const Table& table) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!IsPrepared(table)) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << table.arena().room() << " bytes of room";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(TablePreparer, LoadsThePagesOfALargeNewTableWithoutAnyUse) {
  const ScratchDirectory scratch;
  Store store(OptionsIn(scratch));
  const auto table = store.OpenTable(Spec(kLargeRows));
  EXPECT_EQ(AllRows(*table), FirstRows(table->spec()));  // while it is prepared
  AwaitPrepared(*table);
  EXPECT_EQ(table->preparing_bytes(), 0U);
  EXPECT_EQ(AllRows(*table), FirstRows(table->spec()));
  const uint64_t bytes = uint64_t{kLargeRows} * kFloats * sizeof(float) * 2;
  EXPECT_GE(table->resident_bytes(), bytes);
  EXPECT_LE(table->resident_bytes(), bytes + 2 * kHugePage);
  EXPECT_EQ(table->ChangedBytes(), 0U);
}

TEST(TablePreparer, LeavesSmallTablesAndThoseWithAMemoryBudgetAlone) {
  for (const uint64_t budget : {uint64_t{0}, uint64_t{1} << 30}) {
    const ScratchDirectory scratch;
    StoreOptions options = OptionsIn(scratch);
    options.durability = Durability::kNone;
    options.memory_bytes = budget;
    Store store(options);
    const auto table = store.OpenTable(Spec(budget == 0 ? 10'000 : kLargeRows));
    EXPECT_FALSE(table->arena().has_huge_pages());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(table->resident_bytes(), 0U);
  }
}

TEST(TablePreparer, PushesWhileItWorksHaveTheSameResult) {
  const ScratchDirectory scratch, other;
  Store store(OptionsIn(scratch));
  StoreOptions bounded = OptionsIn(other);
  bounded.durability = Durability::kNone;
  bounded.memory_bytes = uint64_t{1} << 30;  // the reference is not prepared
  Store reference(bounded);
  const auto table = store.OpenTable(Spec(kLargeRows));
  const auto expected = reference.OpenTable(Spec(kLargeRows));
  uint64_t number = 0, late = 0;
  while (late < 5) {
    ApplyPush(store, table, ++number);
    if (IsPrepared(*table)) late++;
  }
  for (uint64_t i = 1; i <= number; i++) ApplyPush(reference, expected, i);
  EXPECT_EQ(AllRows(*table), AllRows(*expected));
}

TEST(TablePreparer, ADroppedTableIsFreed) {
  const ScratchDirectory scratch;
  Store store(OptionsIn(scratch));
  const std::weak_ptr<Table> table = store.OpenTable(Spec(kLargeRows));
  store.DropTable("embedding");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!table.expired()) ASSERT_LT(std::chrono::steady_clock::now(), end);
}

// The first table fits, the second one does not.
TEST(TablePreparer, AFullFileSystemIsAnErrorOfTheTableAndItsMemoryIsFreed) {
  const ScratchDirectory scratch, small;
  ASSERT_EQ(::mount("tmpfs", small.path().c_str(), "tmpfs", 0, "size=240m"), 0);
  {
    Store store(OptionsIn(scratch, small.path()));
    const auto first = store.OpenTable(Spec(kLargeRows));
    for (int64_t row = 0; row < kLargeRows; row++) first->Touch({&row, 1});
    TableSpec spec = Spec(kLargeRows);
    spec.name = "other";
    const auto other = store.OpenTable(spec);
    std::string error;
    for (int64_t row = 0; row < kLargeRows && error.empty(); row += kPageRows) {
      try {
        other->Touch({&row, 1});
      } catch (const Error& full) {
        error = full.what();
      }
    }
    EXPECT_NE(error.find("is full"), std::string::npos) << error;
    EXPECT_NO_THROW(ApplyPush(store, first, 1));
    store.DropTable("other");
    ApplyPush(store, first, 2);
    EXPECT_NE(AllRows(*first), FirstRows(spec));
  }
  EXPECT_EQ(::umount(small.path().c_str()), 0);
}

constexpr uint64_t kPushesBefore = 3;
constexpr const char* kChildVariable = "GRAPHD_PREPARER_TEST";  // "STORE MEMORY MICROSECONDS"

// Makes a table, pushes, waits, and ends by SIGKILL.
[[noreturn]] void RunChild(const std::string& words) {
  std::istringstream in(words);
  StoreOptions options;
  useconds_t wait = 0;
  in >> options.directory >> options.memory_dir >> wait;
  Store store(options);
  const auto table = store.OpenTable(Spec(kLargeRows));
  for (uint64_t i = 1; i <= kPushesBefore; i++) ApplyPush(store, table, i);
  ::usleep(wait);
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

// The process is killed while the table is prepared. It runs this test again, because RocksDB's
// threads do not survive a fork.
TEST(TablePreparer, AKilledProcessLeavesTheRowsOfAcknowledgedPushes) {
  if (const char* words = std::getenv(kChildVariable)) RunChild(words);
  for (const int microseconds : {0, 5'000, 100'000}) {
    const ScratchDirectory scratch, other;
    const MemoryDirectory memory;
    const StoreOptions options = OptionsIn(scratch, memory.path());
    const std::string words = StrCat(options.directory, " ", options.memory_dir, " ", microseconds);
    testing::ChildEnvironment environment;
    environment.Set(kChildVariable, words);
    char** variables = environment.data();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execle("/proc/self/exe", "store_test",
               "--gtest_filter=TablePreparer.AKilledProcessLeavesTheRowsOfAcknowledgedPushes",
               nullptr, variables);
      ::_exit(127);
    }
    const int status = testing::AwaitChild(child);
    ASSERT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL);
    Store store(options), reference(OptionsIn(other));
    ASSERT_TRUE(store.damage().empty()) << store.damage()[0];
    ASSERT_FALSE(store.status().memory.empty());
    const auto table = store.FindTable("embedding");
    const auto expected = reference.OpenTable(Spec(kLargeRows));
    for (uint64_t i = 1; i <= kPushesBefore; i++) ApplyPush(reference, expected, i);
    ASSERT_EQ(AllRows(*table), AllRows(*expected));
    ApplyPush(store, table, kPushesBefore + 1);
    ApplyPush(reference, expected, kPushesBefore + 1);
    EXPECT_EQ(AllRows(*table), AllRows(*expected));
  }
}

}  // namespace
}  // namespace graphd::store
