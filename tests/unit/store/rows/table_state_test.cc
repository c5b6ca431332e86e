// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::HasSubstr;
using namespace graphd::store::testing;

const UpdateRule kPlainSgd{.kind = UpdateKind::kSgd, .lr = 0.1F};

TEST(TableState, IsAddedToATableThatHasPagesInLogAndDatabase) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  const TableSpec bare = Spec("emb", OptimizerState::kNone);
  Store store(options);
  const auto table = store.OpenTable(bare);
  ApplyRandom(store, table, 1, 3, kPlainSgd);
  store.WriteBackNow();
  ApplyRandom(store, table, 4, 5, kPlainSgd);
  const std::vector<float> before = AllRows(*table);
  store.AddState(table, OptimizerState::kAdagrad);
  store.AddState(table, OptimizerState::kAdagrad);
  EXPECT_EQ(table->spec().state, OptimizerState::kAdagrad);
  EXPECT_EQ(AllRows(*table), before);
  EXPECT_EQ(WithStates(store, "emb").second, std::vector<float>(kRows * kElements));

  StoreOptions copy = options;
  copy.directory = scratch / "before";
  CopyStore(options, copy.directory);
  {
    Store again(copy);
    EXPECT_EQ(WithStates(again, "emb"), WithStates(store, "emb"));
    EXPECT_EQ(again.OpenTable(bare), again.FindTable("emb"));  // a spec without state matches any
  }
  ApplyRandom(store, table, 6, 8);
  const auto [values, states] = WithStates(store, "emb");
  EXPECT_NE(states, std::vector<float>(kRows * kElements));
  copy.directory = scratch / "after";
  CopyStore(options, copy.directory);
  Store again(copy);
  EXPECT_TRUE(again.damage().empty());
  EXPECT_EQ(WithStates(again, "emb"), WithStates(store, "emb"));
}

TEST(TableState, AnotherStateIsRejected) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  EXPECT_THAT(Failure([&] { store.AddState(table, OptimizerState::kAdam); }),
              HasSubstr("invalid: table 'emb' has the state of 'adagrad' and can't get that of "
                        "'adam'"));
  const auto dropped = store.OpenTable(Spec("dropped", OptimizerState::kNone));
  store.DropTable("dropped");
  EXPECT_THAT(Failure([&] { store.AddState(dropped, OptimizerState::kAdam); }),
              HasSubstr("not_found"));
  EXPECT_THAT(Failure([&] { store.SetAttributes(dropped, "x"); }), HasSubstr("not_found"));
}

TEST(TableState, IsAddedWhileOthersPushReadAndWriteBack) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.write_back_seconds = 0.001;
  Store store(options);
  const auto table = store.OpenTable(Spec("emb", OptimizerState::kNone));
  std::atomic<bool> stop = false;
  std::thread pusher([&] {
    for (uint64_t i = 1; !stop || i < 20; i++) ApplyRandom(store, table, i, i, kPlainSgd);
  });
  std::thread reader([&] {
    while (!stop) {
      AllRows(*table);
      EXPECT_LE(static_cast<int>(table->spec().state), static_cast<int>(OptimizerState::kAdam));
      EXPECT_LT(table->attributes().size(), 10U);
    }
  });
  for (int i = 0; i < 20; i++)
    store.SetAttributes(table, std::string(static_cast<size_t>(i / 3), 'x'));
  store.AddState(table, OptimizerState::kAdam);
  for (uint64_t i = 1; i <= 20; i++) {
    store.Apply(table,
                RandomPush(2, i, {.kind = UpdateKind::kAdam}, 300, 0, kRows, kElements).push());
  }
  stop = true;
  pusher.join();
  reader.join();
  store.WriteBackNow();
  const auto now = WithStates(store, "emb");
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  CopyStore(options, copy.directory);
  EXPECT_EQ(WithStates(*std::make_unique<Store>(copy), "emb"), now);
}

TEST(TableState, AttributesAreOnTheDiskAtOnce) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  Store store(options);
  TableSpec spec = Spec();
  spec.attributes = "first";
  const auto table = store.OpenTable(spec);
  EXPECT_EQ(table->attributes(), "first");
  store.SetAttributes(table, "second");
  EXPECT_EQ(store.OpenTable(spec)->attributes(), "second");
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  CopyStore(options, copy.directory);
  EXPECT_EQ(Store(copy).FindTable("emb")->attributes(), "second");
}

TEST(TableState, LoadSetsRowsAndStates) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  Store store(options);
  const auto from = store.OpenTable(Spec("from", OptimizerState::kAdam));
  ApplyRandom(store, from, 1, 5, {.kind = UpdateKind::kAdam});
  const auto [values, states] = WithStates(store, "from");
  const auto to = store.OpenTable(Spec("to", OptimizerState::kAdam));
  const size_t floats = StateFloats(OptimizerState::kAdam, kElements);
  std::vector<int64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  std::vector<float> both;
  for (size_t i = 0; i < rows.size(); i++) {
    both.insert(both.end(), &values[i * kElements], &values[i * kElements] + kElements);
    both.insert(both.end(), &states[i * floats], &states[i * floats] + floats);
  }
  Push push;
  push.rule.kind = UpdateKind::kLoad;
  push.client = {7, 7};
  push.sequence = 1;
  push.rows = rows;
  push.payload = std::as_bytes(std::span(both));
  store.Apply(to, push);
  EXPECT_EQ(WithStates(store, "to"), WithStates(store, "from"));
  push.sequence = 2;
  push.payload = push.payload.first(push.payload.size() - 4);
  EXPECT_THAT(Failure([&] { store.Apply(to, push); }), HasSubstr("invalid: table 'to'"));
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  CopyStore(options, copy.directory);
  EXPECT_EQ(WithStates(*std::make_unique<Store>(copy), "to"), WithStates(store, "from"));

  push.payload = std::as_bytes(std::span(values));
  store.Apply(to, push);
  EXPECT_EQ(AllRows(*to), values);
  EXPECT_EQ(WithStates(store, "to").second, std::vector<float>(kRows * floats));
}

TEST(TableState, RowsOfAMappedBookHaveTheirOwnIds) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  std::vector<int64_t> ids(kRows);
  for (size_t i = 0; i < ids.size(); i++) ids[i] = 5000 + static_cast<int64_t>(i * 37 % kRows);
  options.row_ids = [&](const TableSpec& spec) {
    EXPECT_EQ(spec.name, "mapped");
    return std::make_shared<const std::vector<int64_t>>(ids);
  };
  TableSpec spec = Spec("mapped");
  spec.first_id = -1;
  std::vector<float> consecutive;
  for (int time = 0; time < 2; time++) {  // created, and then recovered
    Store store(options);
    const std::vector<float> mapped = AllRows(*store.OpenTable(spec));
    if (time == 0) consecutive = AllRows(*store.OpenTable(Spec()));
    for (size_t i = 0; i < ids.size(); i++) {
      const size_t row = static_cast<size_t>(ids[i] - 5000);
      ASSERT_TRUE(std::equal(&mapped[i * kElements], &mapped[i * kElements] + kElements,
                             &consecutive[row * kElements]));
    }
  }
  ids.pop_back();
  EXPECT_THAT(Failure([&] { Store store(options); }),
              HasSubstr("table 'mapped' has 1000 rows here and ids for 999"));
}

TEST(TableState, TheNumberOfTablesIsBounded) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.max_tables = 2;
  Store store(options);
  store.OpenTable(Spec("a"));
  store.OpenTable(Spec("b"));
  EXPECT_THAT(Failure([&] { store.OpenTable(Spec("c")); }),
              HasSubstr("overloaded: no table 'c': there are 2 tables"));
  store.OpenTable(Spec("a"));
  store.DropTable("a");
  store.OpenTable(Spec("c"));
}

}  // namespace
}  // namespace graphd::store
