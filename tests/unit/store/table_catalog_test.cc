// SPDX-License-Identifier: Apache-2.0
#include "store/table_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/rows/store_keys.h"
#include "tests/support/small_disk.h"
#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;
using graphd::testing::SmallDisk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A failed push ends the sequence of good pushes, and later pushes to other tables may be good,
// too. Their clients must be stored, because otherwise these pushes are applied twice if they are
// sent again.
TEST(TableCatalog, WritesAStateThatDiffersOnlyInItsClients) {
  const ScratchDirectory scratch;
  const StoreOptions options = testing::Options(scratch);
  PageDb db(scratch / "pages");
  MemoryBudget memory(1 << 20);
  TableCatalog catalog(options, db, memory, nullptr);
  StoreState state;
  state.lsn = 5;
  state.clients = {{{1, 1}, {.sequence = 3, .lsn = 5}}};
  catalog.WriteState(state);
  state.clients.push_back({{2, 2}, {.sequence = 1, .lsn = 7}});
  catalog.WriteState(state);
  const StoreState read = catalog.ReadState();
  EXPECT_EQ(read.lsn, 5U);
  ASSERT_EQ(read.clients.size(), 2U);
  EXPECT_EQ(read.clients[1].client.lsn, 7U);
}

// The store of a process on a disk that gets full, and what the next process finds if this one is
// killed.
class FullDiskUnderTables : public ::testing::Test {
 protected:
  FullDiskUnderTables() : options_(testing::Options(disk_)) {}

  // Sets the first value of the first row, and waits until that is acknowledged.
  static void Set(Store& store, const std::shared_ptr<Table>& table, float value) {
    static uint64_t sequence = 0;
    const int64_t row = 0;
    const std::vector<float> values(testing::kElements, value);
    Push push;
    push.rule.kind = UpdateKind::kSet;
    push.client = {1, 1};
    push.sequence = ++sequence;
    push.rows = {&row, 1};
    push.payload = std::as_bytes(std::span(values));
    store.Apply(table, push);
  }
  // Calls f while the disk is full. Returns its error.
  std::string WhenFull(const std::function<void()>& f) {
    disk_.Fill();
    const std::string failure = testing::Failure(f);
    disk_.MakeRoom();
    return failure;
  }
  static void WriteBack(Store& store) {
    // RocksDB is resumed once a second.
    for (const auto end = Clock::now() + std::chrono::minutes(1); Clock::now() < end;) {
      if (testing::Failure([&] { store.WriteBackNow(); }) == "no error") return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FAIL() << "the disk has room, but the store does not write";
  }
  // Calls f with the store of the next process, if this one is killed now.
  void AfterAKill(const std::function<void(Store&)>& f) const {
    const ScratchDirectory scratch;
    StoreOptions next = testing::Options(scratch);
    testing::CopyStore(options_, next.directory);
    Store store(next);
    f(store);
  }

  SmallDisk disk_{64};
  StoreOptions options_;
};

TEST_F(FullDiskUnderTables, ADropThatIsNotOnTheDiskIsADropAllTheSame) {
  Store store(options_);
  const auto table = store.OpenTable(testing::Spec());
  Set(store, table, 42);
  store.WriteBackNow();
  EXPECT_THAT(WhenFull([&] { store.DropTable("emb"); }), HasSubstr("was dropped, but"));
  EXPECT_TRUE(store.IsDropped(*table));
  EXPECT_THAT(store.tables(), IsEmpty());
  AfterAKill([](Store& next) {
    EXPECT_EQ(testing::AllRows(*next.FindTable("emb"))[0], 42);
    EXPECT_EQ(next.TroubleOf(*next.FindTable("emb")), "");
  });
  WriteBack(store);
  AfterAKill([](Store& next) { EXPECT_THAT(next.tables(), IsEmpty()); });
}

// After a failure, RocksDB refuses changes until it is resumed, which may happen at any time.
TEST_F(FullDiskUnderTables, ADropAfterAFailureIsRefusedOrDone) {
  Store store(options_);
  const auto table = store.OpenTable(testing::Spec());
  Set(store, table, 42);
  store.SetTrouble(*table, "lost");
  const std::string why = WhenFull([&] {
    EXPECT_NE(testing::Failure([&] { store.WriteBackNow(); }), "no error");
    store.DropTable("emb");
  });
  EXPECT_THAT(why, HasSubstr("overloaded: "));
  const bool is_done = why.find("was dropped, but") != why.npos;
  EXPECT_EQ(store.IsDropped(*table), is_done);
  EXPECT_EQ(store.TroubleOf(*table), is_done ? "" : "lost");
  WriteBack(store);
  AfterAKill([&](Store& next) {
    ASSERT_EQ(next.tables().size(), is_done ? 0U : 1U);
    if (is_done) return;
    EXPECT_EQ(testing::AllRows(*next.FindTable("emb"))[0], 42);
    EXPECT_EQ(next.TroubleOf(*next.FindTable("emb")), "lost");
  });
}

TEST_F(FullDiskUnderTables, ATableThatCouldNotBeCreatedDoesNotReplaceTheOneThatCould) {
  {
    PageDb db(options_.directory + "/pages");
    StoreState state;
    state.next_id = 9;
    db.PutText(kStateKey, EncodeState(state));
    db.Flush();
  }
  Store store(options_);
  EXPECT_THAT(WhenFull([&] { store.OpenTable(testing::Spec()); }), HasSubstr("overloaded"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // RocksDB is resumed
  const auto table = store.OpenTable(testing::Spec());
  EXPECT_EQ(table->id(), 10U);  // in the order of texts, this is before 9
  Set(store, table, 42);
  WriteBack(store);
  AfterAKill([](Store& next) {
    EXPECT_EQ(next.tables().size(), 1U);
    EXPECT_EQ(testing::AllRows(*next.FindTable("emb"))[0], 42);
  });
}

TEST_F(FullDiskUnderTables, AChangeThatFailedDoesNotBecomeTrueLater) {
  Store store(options_);
  const auto table = store.OpenTable(testing::Spec("emb", OptimizerState::kNone));
  store.SetAttributes(table, "old");
  EXPECT_THAT(WhenFull([&] { store.SetAttributes(table, "new"); }), HasSubstr("overloaded"));
  EXPECT_EQ(table->attributes(), "old");
  EXPECT_NE(WhenFull([&] { store.AddState(table, OptimizerState::kAdagrad); }), "no error");
  EXPECT_EQ(table->spec().state, OptimizerState::kNone);
  WriteBack(store);
  AfterAKill([](Store& next) {
    EXPECT_EQ(next.FindTable("emb")->attributes(), "old");
    EXPECT_EQ(next.FindTable("emb")->spec().state, OptimizerState::kNone);
  });
}

// A process that is killed while it creates a table that could not be created before may leave two
// descriptions of one name.
TEST(TableCatalog, HasTheLastTableOfAName) {
  const ScratchDirectory scratch;
  const StoreOptions options = testing::Options(scratch);
  PageDb db(scratch / "pages");
  for (const uint32_t id : {9, 10}) db.PutText(TableKey(id), EncodeSpec(testing::Spec()));
  MemoryBudget memory(uint64_t{64} << 20);
  TableCatalog catalog(options, db, memory, nullptr);
  const auto specs = catalog.StoredSpecs();
  ASSERT_EQ(specs.size(), 1U);
  EXPECT_EQ(specs[0].first, 10U);
  catalog.Add(specs[0].first, specs[0].second, /*kept=*/false);
  catalog.RemoveOthers();
  EXPECT_EQ(db.TextNames("table/"), std::vector<std::string>{"table/10"});
}

}  // namespace
}  // namespace graphd::store
