// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <thread>

#include "graphd/error.h"
#include "store/checkpoint/reader.h"
#include "store/checkpoint/tables.h"
#include "store/store.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/random_push.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using graphd::testing::ScratchDirectory;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kKeptRows = 1000;
constexpr size_t kKeptElements = 6;
const UpdateRule kAdam{.kind = UpdateKind::kAdam, .lr = 0.1F};

TableSpec EmbeddingSpec(const std::string& name = "emb") {
  TableSpec spec;
  spec.name = name;
  spec.row_shape = {kKeptElements};
  spec.rows = kKeptRows;
  spec.first_id = 5000;
  spec.state = OptimizerState::kAdam;
  spec.initializer = {InitKind::kUniform, -1, 1, 3};
  return spec;
}

TableSpec CountSpec(const std::string& name) {
  TableSpec spec;
  spec.name = name;
  spec.dtype = DType::kInt64;
  spec.rows = 1;
  return spec;
}

StoreOptions OptionsIn(const std::string& directory) {
  StoreOptions options;
  options.directory = directory;
  options.write_back_seconds = 1e6;
  return options;
}

RandomPush Gradients(uint64_t sequence, int64_t end = kKeptRows) {
  return {1, sequence, kAdam, 300, 0, end, kKeptElements};
}

void AddOne(Store& store, const std::string& table, uint64_t client, uint64_t sequence) {
  const int64_t row = 0, one = 1;
  Push push;
  push.rule.kind = UpdateKind::kAdd;
  push.client = {client, 0};
  push.sequence = sequence;
  push.rows = {&row, 1};
  push.payload = std::as_bytes(std::span(&one, 1));
  store.Apply(store.FindTable(table), push);
}

int64_t CountIn(const std::string& directory, const std::string& table) {
  int64_t count = 0;
  CheckpointReader(directory).ReadRows(table, 0, 1, std::as_writable_bytes(std::span(&count, 1)),
                                       {});
  return count;
}

std::vector<float> StoredRows(Table& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.spec().rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  std::vector<float> values(rows.size() * table.spec().row_elements());
  table.Read(rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

ErrorCode CodeOf(const std::function<void()>& f, std::string* message = nullptr) {
  try {
    f();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

TEST(Checkpoint, HoldsRowsAndStatesAsTheyWere) {
  const ScratchDirectory scratch;
  const std::string part = scratch / "part";
  std::vector<float> was;
  {
    Store store(OptionsIn(scratch / "store"));
    const auto table = store.OpenTable(EmbeddingSpec());
    store.OpenTable(CountSpec("other"));
    // Rows from 640 on are never written.
    for (uint64_t i = 1; i <= 5; i++) store.Apply(table, Gradients(i, 640).push());
    store.PrepareCheckpoint();
    store.Apply(table, Gradients(6, 640).push());
    const auto specs = store.WriteCheckpoint(part, {"emb"}, *store.HoldPushes());
    ASSERT_EQ(specs, std::vector<TableSpec>{EmbeddingSpec()});
    was = StoredRows(*table);
    for (uint64_t i = 7; i <= 9; i++) store.Apply(table, Gradients(i).push());
    store.WriteBackNow();
    store.DropTable("emb");
    store.WriteBackNow();
  }
  const CheckpointReader reader(part);
  EXPECT_EQ(reader.tables(), std::vector<TableSpec>{EmbeddingSpec()});
  const size_t state_floats = StateFloats(OptimizerState::kAdam, kKeptElements);
  std::vector<float> rows(was.size()), states(kKeptRows * state_floats);
  reader.ReadRows("emb", 0, kKeptRows, std::as_writable_bytes(std::span(rows)), states);
  EXPECT_EQ(rows, was);

  // A range of rows equals the same rows of the whole.
  std::vector<float> some(100 * kKeptElements), some_states(100 * state_floats);
  reader.ReadRows("emb", 590, 100, std::as_writable_bytes(std::span(some)), some_states);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), rows.begin() + 590 * kKeptElements));
  EXPECT_TRUE(std::equal(some_states.begin(), some_states.end(),
                         states.begin() + 590 * static_cast<int64_t>(state_floats)));

  // The states are those with which the next steps give the same rows: Adam counts steps per row.
  std::vector<int> steps(kKeptRows);
  for (uint64_t i = 1; i <= 6; i++) {
    std::vector<bool> in_push(kKeptRows);
    const RandomPush made = Gradients(i, 640);
    for (const int64_t row : made.push().rows) in_push[static_cast<size_t>(row)] = true;
    for (size_t row = 0; row < steps.size(); row++) steps[row] += in_push[row] ? 1 : 0;
  }
  bool found = false;
  for (size_t column : {size_t{0}, state_floats - 1}) {
    bool same = true;
    for (size_t row = 0; row < steps.size(); row++) {
      same &= states[row * state_floats + column] == static_cast<float>(steps[row]);
    }
    found |= same;
  }
  EXPECT_TRUE(found) << "no count of steps in the states";

  std::string message;
  EXPECT_EQ(CodeOf([&] { reader.FindTable("other"); }, &message), ErrorCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("'emb'"));
  EXPECT_EQ(CodeOf([&] { reader.ReadRows("emb", 990, 11, {}, {}); }), ErrorCode::kInvalid);
}

TEST(Checkpoint, RowsNeverWrittenHaveTheFirstValuesOfTheirIds) {
  const ScratchDirectory scratch;
  StoreOptions options = OptionsIn(scratch / "store");
  options.row_ids = [](const TableSpec& spec) {
    auto ids = std::make_shared<std::vector<int64_t>>();
    for (int64_t i = 0; i < spec.rows; i++) ids->push_back(3 * i + 1);
    return ids;
  };
  Store store(options);
  TableSpec spec = EmbeddingSpec();
  spec.first_id = -1;
  spec.state = OptimizerState::kNone;
  const auto table = store.OpenTable(spec);
  const std::vector<float> was = StoredRows(*table);
  store.Apply(table, RandomPush(1, 1, {.kind = UpdateKind::kSet}, 5, 0, 64, kKeptElements).push());
  store.WriteBackNow();
  store.AddState(table, OptimizerState::kAdam);  // the page on the disk has none
  store.WriteCheckpoint(scratch / "part", {"emb"}, *store.HoldPushes());
  const CheckpointReader reader(scratch / "part");
  std::vector<float> rows(was.size());
  std::vector<float> states(kKeptRows * StateFloats(OptimizerState::kAdam, kKeptElements), 1.0F);
  reader.ReadRows("emb", 0, kKeptRows, std::as_writable_bytes(std::span(rows)), states);
  EXPECT_EQ(rows, StoredRows(*table));
  EXPECT_NE(rows, was);
  EXPECT_EQ(states, std::vector<float>(states.size(), 0.0F));
}

TEST(Checkpoint, PushesWaitWhileTheyAreHeldAndAreAppliedOnceInOrder) {
  const ScratchDirectory scratch;
  Store store(OptionsIn(scratch / "store"));
  store.OpenTable(CountSpec("count"));
  const auto table = store.FindTable("count");
  AddOne(store, "count", 1, 1);
  auto hold = store.HoldPushes();
  EXPECT_EQ(CodeOf([&] { store.HoldPushes(); }), ErrorCode::kOverloaded);
  const int64_t row = 0;
  std::vector<int64_t> values = {10, 20, 30};
  std::vector<std::promise<void>> done(4);
  for (size_t i = 0; i < 4; i++) {
    Push push;
    push.client = {1, 0};
    push.sequence = 2 + std::min<size_t>(i, 2);  // the last one is sent twice
    push.rows = {&row, 1};
    push.payload = std::as_bytes(std::span(&values[std::min<size_t>(i, 2)], 1));
    store.Submit(table, push, [&, i](const Error* error) {
      EXPECT_EQ(error, nullptr);
      done[i].set_value();
    });
  }
  EXPECT_EQ(done[0].get_future().wait_for(milliseconds(50)), std::future_status::timeout);
  int64_t value = 0;
  table->Read({&row, 1}, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(value, 1);
  hold.reset();
  for (size_t i = 1; i < 4; i++) done[i].get_future().get();
  table->Read({&row, 1}, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(value, 30);
  EXPECT_EQ(store.status().last_lsn, 4U);
}

TEST(Checkpoint, AnExpiredWriteBarrierReleasesPushesAndFailsTheCheckpoint) {
  const ScratchDirectory scratch;
  Store store(OptionsIn(scratch / "store"));
  store.OpenTable(CountSpec("count"));
  const auto hold = store.HoldPushes({.holder = "job a", .limit = milliseconds(20)});
  AddOne(store, "count", 1, 1);  // returns only if the hold has expired
  EXPECT_EQ(CodeOf([&] { store.WriteCheckpoint(scratch / "part", {"count"}, *hold); }),
            ErrorCode::kDeadline);
}

TEST(Checkpoint, AHoldEndsWhenAPushHasWaitedTooLong) {
  const ScratchDirectory scratch;
  Store store(OptionsIn(scratch / "store"));
  store.OpenTable(CountSpec("count"));
  const auto hold = store.HoldPushes({.holder = "job a", .push_limit = milliseconds(150)});
  std::this_thread::sleep_for(milliseconds(300));  // no push waits yet
  hold->CheckHeld();
  AddOne(store, "count", 1, 1);
  try {
    store.WriteCheckpoint(scratch / "part", {"count"}, *hold);
    FAIL() << "the hold has not expired";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeadline);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("pushes waited 0."),
                                    HasSubstr("a checkpoint by job a"), HasSubstr("try again")));
  }
}

TEST(Checkpoint, PushesGoOnForAsLongAsTheyWaited) {
  const ScratchDirectory scratch;
  Store store(OptionsIn(scratch / "store"));
  store.OpenTable(CountSpec("count"));
  EXPECT_EQ(store.TimeToNextHold("a").count(), 0);
  store.HoldPushes({.job = "a"});
  EXPECT_EQ(store.TimeToNextHold("a").count(), 0) << "no push has waited";
  constexpr milliseconds kWait{2000};
  auto hold = store.HoldPushes({.job = "a", .holder = "job a", .push_limit = kWait});
  AddOne(store, "count", 1, 1);
  hold.reset();  // the push may be done before its hold has ended
  const milliseconds own = store.TimeToNextHold("a"), others = store.TimeToNextHold("b");
  EXPECT_GT(others.count(), 0);
  EXPECT_GT(own, others + kWait / 2) << "another job's checkpoint goes first";
  try {
    store.HoldPushes({.job = "b"});
    FAIL() << "pushes are held again at once";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("for the last checkpoint, by job a"),
                                    HasSubstr("the next one may be taken in ")));
  }
  std::this_thread::sleep_for(others);
  store.HoldPushes({.job = "b"});
}

TEST(Checkpoint, PushesBeyondTheBoundAreRejectedDuringAHold) {
  const ScratchDirectory scratch;
  StoreOptions options = OptionsIn(scratch / "store");
  options.max_pending_bytes = 15000;
  Store store(options);
  const auto table = store.OpenTable(EmbeddingSpec());
  auto hold = store.HoldPushes();
  std::promise<void> first;
  const RandomPush one = Gradients(1), two = Gradients(2);
  store.Submit(table, one.push(), [&](const Error*) { first.set_value(); });
  EXPECT_EQ(CodeOf([&] { store.Submit(table, two.push(), [](const Error*) {}); }),
            ErrorCode::kOverloaded);
  hold.reset();
  first.get_future().get();
  store.Apply(table, two.push());
}

std::unique_ptr<WriteBarrierHold> HoldInTurn(Store& store) {
  for (;;) {
    const milliseconds wait = store.TimeToNextHold("");
    if (wait.count() == 0) return store.HoldPushes();
    std::this_thread::sleep_for(wait);
  }
}

// A client counts in the first store and then in the second: acknowledged pushes on which others
// depend are in the checkpoint.
TEST(Checkpoint, ACheckpointOfSeveralStoresIsConsistent) {
  const ScratchDirectory scratch;
  Store first(OptionsIn(scratch / "first")), second(OptionsIn(scratch / "second"));
  first.OpenTable(CountSpec("count"));
  second.OpenTable(CountSpec("count"));
  std::atomic<bool> stop = false;
  std::thread client([&] {
    for (uint64_t i = 1; !stop; i++) {
      AddOne(first, "count", 1, i);
      AddOne(second, "count", 1, i);
    }
  });
  int64_t last = -1;
  for (int i = 0; i < 10; i++) {
    const std::string a = scratch / ("a" + std::to_string(i)),
                      b = scratch / ("b" + std::to_string(i));
    {
      const auto hold_first = HoldInTurn(first), hold_second = HoldInTurn(second);
      second.WriteCheckpoint(b, {"count"}, *hold_second);
      std::this_thread::sleep_for(milliseconds(5));
      first.WriteCheckpoint(a, {"count"}, *hold_first);
    }
    const int64_t in_first = CountIn(a, "count"), in_second = CountIn(b, "count");
    EXPECT_GE(in_first, in_second);
    EXPECT_LE(in_first, in_second + 1);
    EXPECT_GE(in_first, last);
    last = in_first;
    std::this_thread::sleep_for(milliseconds(5));
  }
  stop = true;
  client.join();
  EXPECT_GT(last, 0);
}

TEST(Checkpoint, DamageIsReportedWithTableAndFile) {
  const ScratchDirectory scratch;
  const std::string part = scratch / "part";
  Store store(OptionsIn(scratch / "store"));
  const auto table = store.OpenTable(EmbeddingSpec());
  for (uint64_t i = 1; i <= 5; i++) store.Apply(table, Gradients(i).push());
  store.WriteCheckpoint(part, {"emb"}, *store.HoldPushes());
  fs::copy(part, scratch / "bad", fs::copy_options::recursive);  // copies, not links
  uint64_t flipped = 0;
  for (const auto& entry : fs::directory_iterator(scratch / "bad/pages")) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2000);
    const int byte = file.get();
    file.seekp(2000);
    file.put(static_cast<char>(byte ^ 1));
    flipped++;
  }
  ASSERT_GT(flipped, 0U);
  std::vector<std::byte> rows(kKeptRows * kKeptElements * sizeof(float));
  std::string message;
  EXPECT_EQ(
      CodeOf([&] { CheckpointReader(scratch / "bad").ReadRows("emb", 0, kKeptRows, rows, {}); },
             &message),
      ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("'emb'"));
  EXPECT_THAT(message, HasSubstr(scratch / "bad"));

  fs::resize_file(scratch / "bad/tables.json", fs::file_size(scratch / "bad/tables.json") / 2);
  EXPECT_EQ(CodeOf([&] { CheckpointReader reader(scratch / "bad"); }, &message),
            ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("tables.json"));
  EXPECT_EQ(CodeOf([&] { CheckpointReader reader(scratch / "nowhere"); }), ErrorCode::kNotFound);
}

TEST(Checkpoint, ATablesTroubleStaysUntilItIsRepairedOrDropped) {
  const ScratchDirectory scratch;
  for (int start = 0; start < 3; start++) {
    Store store(OptionsIn(scratch / "store"));
    const auto table = store.OpenTable(CountSpec("count"));
    store.OpenTable(CountSpec("dropped"));
    if (start == 0) {
      store.SetTrouble(*table, "half restored");
      store.SetTrouble(*store.FindTable("dropped"), "lost");
    }
    EXPECT_EQ(store.TroubleOf(*table), "half restored");
    std::string message;
    EXPECT_EQ(CodeOf([&] { AddOne(store, "count", 1, 1); }, &message), ErrorCode::kCorrupt);
    EXPECT_THAT(message, HasSubstr("half restored"));
    EXPECT_EQ(
        CodeOf([&] { store.WriteCheckpoint(scratch / "part", {"count"}, *store.HoldPushes()); }),
        ErrorCode::kCorrupt);
    if (start == 1) {
      store.DropTable("dropped");
      EXPECT_EQ(store.TroubleOf(*store.OpenTable(CountSpec("dropped"))), "");
    }
    if (start == 2) {
      const int64_t row = 0, none = 0;
      Push load;
      load.rule.kind = UpdateKind::kLoad;
      load.client = {2, 0};
      load.sequence = 1;
      load.rows = {&row, 1};
      load.payload = std::as_bytes(std::span(&none, 1));
      store.Apply(table, load);
      store.SetTrouble(*table, "");
    }
  }
  Store store(OptionsIn(scratch / "store"));
  AddOne(store, "count", 1, 1);
}

TEST(CheckpointTables, ACountOfIdsIsComparedWithTheirFileBeforeMemoryIsAllocated) {
  const ScratchDirectory scratch;
  CheckpointTable table;
  table.id = 1;
  table.spec = EmbeddingSpec();
  table.spec.first_id = -1;
  table.spec.rows = int64_t{1} << 60;
  table.ids = std::make_shared<std::vector<int64_t>>(3);
  WriteCheckpointTables(scratch.path(), {table});
  try {
    ReadCheckpointTables(scratch.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr("ids-1 has 24 bytes, expected 1152921504606846976 ids"));
  }
}

}  // namespace
}  // namespace graphd::store
