// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/strings.h"
#include "graphd/error.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using graphd::testing::ScratchDirectory;
using ::testing::HasSubstr;
using namespace graphd::store::testing;

TEST(Store, RowsFollowAFloat64Reference) {
  for (const uint8_t mean : {uint8_t{0}, uint8_t{1}}) {
    const ScratchDirectory scratch;
    Store store(Options(scratch));
    const auto table = store.OpenTable(Spec());
    const std::vector<float> first = AllRows(*table);
    std::vector<double> wanted(first.begin(), first.end()), sums(wanted.size());
    UpdateRule rule = kAdagrad;
    rule.mean_of_duplicates = mean;
    for (uint64_t i = 1; i <= 20; i++) {
      const RandomPush made(1, i, rule, 700, 0, kRows, kElements);  // many duplicates
      const auto* gradients = reinterpret_cast<const float*>(made.push().payload.data());
      std::map<int64_t, std::pair<std::vector<double>, int>> by_row;
      for (size_t k = 0; k < made.push().rows.size(); k++) {
        auto& [sum, count] = by_row[made.push().rows[k]];
        sum.resize(kElements);
        for (size_t e = 0; e < kElements; e++) sum[e] += gradients[k * kElements + e];
        count++;
      }
      for (const auto& [row, gradient] : by_row) {
        for (size_t e = 0; e < kElements; e++) {
          const double g = gradient.first[e] / (mean != 0 ? gradient.second : 1);
          double& sum = sums[static_cast<size_t>(row) * kElements + e];
          sum += g * g;
          // A sum of gradients that cancel has no direction: its step is lr either way.
          if (std::abs(g) < 1e-4) sum = NAN;
          wanted[static_cast<size_t>(row) * kElements + e] -=
              double{0.1F} * g / (std::sqrt(sum) + 1e-10);
        }
      }
      store.Apply(table, made.push());
    }
    const std::vector<float> values = AllRows(*table);
    size_t compared = 0;
    for (size_t i = 0; i < values.size(); i++) {
      if (std::isnan(wanted[i])) continue;
      ASSERT_NEAR(values[i], wanted[i], 2e-5);
      compared++;
    }
    EXPECT_GT(compared, values.size() * 9 / 10);
  }
}

TEST(Store, TheSamePushesGiveTheSameBitsWithAnyNumberOfThreads) {
  std::vector<float> expected;
  for (const size_t threads : {1, 2, 5}) {
    const ScratchDirectory scratch;
    StoreOptions options = Options(scratch);
    options.threads = threads;
    Store store(options);
    const auto table = store.OpenTable(Spec("emb", OptimizerState::kAdam));
    std::vector<std::unique_ptr<RandomPush>> made;
    std::atomic<int> left = 200;
    for (uint64_t i = 1; i <= 200; i++) {
      UpdateRule rule{.kind = UpdateKind::kAdam};
      made.push_back(std::make_unique<RandomPush>(1, i, rule, 150, 0, kRows, kElements));
      store.Submit(table, made.back()->push(), [&](const Error* error) {
        EXPECT_EQ(error, nullptr);
        left--;
      });
    }
    while (left > 0) std::this_thread::yield();
    if (expected.empty()) expected = AllRows(*table);
    EXPECT_EQ(AllRows(*table), expected) << threads << " threads";
  }
}

TEST(Store, FirstValuesDoNotDependOnThePartition) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const std::vector<float> whole = AllRows(*store.OpenTable(Spec()));
  TableSpec half = Spec("half");
  half.first_id += kRows / 2;
  half.rows -= kRows / 2;
  const std::vector<float> second = AllRows(*store.OpenTable(half));
  EXPECT_TRUE(
      std::equal(second.begin(), second.end(), whole.end() - static_cast<long>(second.size())));
}

TEST(Store, SetAndAddTakeAnyShapeAndDType) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  TableSpec spec;
  spec.name = "counts";
  spec.dtype = DType::kInt16;
  spec.row_shape = {3};
  spec.rows = 70;
  spec.initializer = {InitKind::kConstant, 5, 0, 0};
  const auto table = store.OpenTable(spec);
  const std::vector<int64_t> rows = {69, 0, 69};
  const std::vector<int16_t> payload = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  Push push;
  push.rows = rows;
  push.payload = std::as_bytes(std::span(payload));
  push.rule.kind = UpdateKind::kAdd;
  push.sequence = 1;
  store.Apply(table, push);
  const auto read = [&](int64_t row) {
    std::vector<int16_t> values(3);
    table->Read({&row, 1}, reinterpret_cast<std::byte*>(values.data()));
    return values;
  };
  EXPECT_EQ(read(69), (std::vector<int16_t>{13, 15, 17}));
  EXPECT_EQ(read(0), (std::vector<int16_t>{9, 10, 11}));
  EXPECT_EQ(read(1), (std::vector<int16_t>{5, 5, 5}));
  push.rule.kind = UpdateKind::kSet;
  push.sequence = 2;
  store.Apply(table, push);
  EXPECT_EQ(read(69), (std::vector<int16_t>{7, 8, 9}));  // the last of duplicates wins
}

TEST(Store, ARepeatedPushIsAppliedOnce) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  std::vector<float> once;
  {
    Store store(options);
    const auto table = store.OpenTable(Spec());
    ApplyRandom(store, table, 1, 5);
    once = AllRows(*table);
    ApplyRandom(store, table, 3, 5);
    EXPECT_EQ(AllRows(*table), once);
  }
  Store store(options);  // clients are known from RocksDB
  const auto table = store.FindTable("emb");
  ApplyRandom(store, table, 1, 5);
  EXPECT_EQ(AllRows(*table), once);
  ApplyRandom(store, table, 6, 6);
  EXPECT_NE(AllRows(*table), once);
}

TEST(Store, TheLogRestoresPushesThatAreNotWrittenBack) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  Store store(options);
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 5);
  store.WriteBackNow();
  ApplyRandom(store, table, 6, 9);
  CopyStore(options, scratch / "copy");
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  {
    Store again(copy);
    EXPECT_GE(again.status().replayed, 4U);
    EXPECT_EQ(AllRows(*again.FindTable("emb")), AllRows(*table));
    ApplyRandom(again, again.FindTable("emb"), 7, 9);  // repeated pushes, known from the log
    EXPECT_EQ(AllRows(*again.FindTable("emb")), AllRows(*table));
  }
  Store third(copy);
  EXPECT_EQ(AllRows(*third.FindTable("emb")), AllRows(*table));
}

TEST(Store, WithoutDurabilityAnOlderLogIsReplayedOnceAndRemoved) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  copy.durability = Durability::kNone;
  Store store(options);
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 5);
  CopyStore(options, copy.directory);
  {
    Store without(copy);
    EXPECT_EQ(AllRows(*without.FindTable("emb")), AllRows(*table));
    EXPECT_TRUE(fs::is_empty(copy.directory + "/log"));
    ApplyRandom(without, without.FindTable("emb"), 6, 9);
  }
  ApplyRandom(store, table, 6, 9);
  EXPECT_EQ(AllRows(*Store(copy).FindTable("emb")), AllRows(*table));
}

TEST(Store, WriteBackTruncatesTheLog) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.log_segment_bytes = 20000;
  Store store(options);
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 40);
  EXPECT_GT(store.status().log_bytes, 300000U);
  store.WriteBackNow();
  EXPECT_LT(store.status().log_bytes, 30000U);
}

TEST(Store, WritesBackByItself) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.log_segment_bytes = 20000;
  options.write_back_seconds = 0.01;
  Store store(options);
  const auto table = store.OpenTable(Spec());
  ApplyRandom(store, table, 1, 40);
  while (store.status().log_bytes > 30000)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(Store, WritesNothingWhileItIsIdle) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.write_back_seconds = 0.001;
  Store store(options);
  ApplyRandom(store, store.OpenTable(Spec()), 1, 5);
  store.WriteBackNow();
  bool is_idle = false;
  for (const auto start = Clock::now(); !is_idle && SecondsSince(start) < 20;) {
    try {
      const auto before = FilesIn(options.directory);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      is_idle = FilesIn(options.directory) == before;
    } catch (const std::filesystem::filesystem_error&) {  // RocksDB has removed a file
    }
  }
  EXPECT_TRUE(is_idle);
}

TEST(Store, ADifferingTableOfTheSameNameIsRejectedWithTheDifferences) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  EXPECT_EQ(store.OpenTable(Spec()), table);
  TableSpec other = Spec("emb", OptimizerState::kAdam);
  other.row_shape = {2, 3};
  other.rows++;
  const std::string failure = Failure([&] { store.OpenTable(other); });
  EXPECT_THAT(failure, HasSubstr("invalid: table 'emb' exists"));
  EXPECT_THAT(failure, HasSubstr("shape of a row is [6], not [2, 3]"));
  EXPECT_THAT(failure, HasSubstr("number of rows here is 1000, not 1001"));
  EXPECT_THAT(failure, HasSubstr("optimiser's state is adagrad, not adam"));
}

TEST(Store, ADroppedTableStaysDropped) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  {
    Store store(options);
    ApplyRandom(store, store.OpenTable(Spec()), 1, 3);
    ApplyRandom(store, store.OpenTable(Spec("other")), 4, 6);
    store.WriteBackNow();
    store.DropTable("emb");
    EXPECT_THAT(Failure([&] { store.FindTable("emb"); }), HasSubstr("not_found"));
    CopyStore(options, scratch / "copy");
  }
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  Store store(copy);
  EXPECT_EQ(store.tables().size(), 1U);
  const auto table = store.OpenTable(Spec());  // a new table with first values
  EXPECT_GT(table->id(), 2U);
  EXPECT_EQ(AllRows(*table), AllRows(*store.OpenTable(Spec("fresh"))));
}

TEST(Store, BadPushesAreRejectedAndChangeNothing) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  const std::vector<float> before = AllRows(*table);
  const auto refused = [&](std::vector<int64_t> rows, size_t bytes, UpdateRule rule) {
    const std::vector<std::byte> payload(bytes);
    Push push;
    push.rows = rows;
    push.payload = payload;
    push.rule = rule;
    push.sequence = 1;
    return Failure([&] { store.Apply(table, push); });
  };
  constexpr size_t kRowBytes = kElements * sizeof(float);
  EXPECT_THAT(refused({0, kRows}, 2 * kRowBytes, kAdagrad), HasSubstr("no row 1000"));
  EXPECT_THAT(refused({-1}, kRowBytes, kAdagrad), HasSubstr("no row -1"));
  EXPECT_THAT(refused({0}, kRowBytes - 1, kAdagrad), HasSubstr("came with 23 bytes"));
  EXPECT_THAT(refused({0}, kRowBytes, {.kind = UpdateKind::kAdam}), HasSubstr("needs a table"));
  EXPECT_EQ(AllRows(*table), before);
  EXPECT_EQ(store.status().last_lsn, 0U);
  EXPECT_EQ(refused({}, 0, kAdagrad), "no error");
}

TEST(Store, AFullLogIsOverloaded) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.max_log_bytes = 50000;
  Store store(options);
  const auto table = store.OpenTable(Spec());
  EXPECT_THAT(Failure([&] { ApplyRandom(store, table, 1, 40); }), HasSubstr("overloaded"));
}

TEST(Store, LostPushesAreReportedAndTheTableIsReadOnly) {
  const ScratchDirectory scratch;
  const StoreOptions options = Options(scratch);
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  std::vector<float> at_five;
  {
    Store store(options);
    const auto table = store.OpenTable(Spec());
    ApplyRandom(store, table, 1, 5);
    at_five = AllRows(*table);
    ApplyRandom(store, table, 6, 20);
    CopyStore(options, copy.directory);
  }
  const std::string log = copy.directory + "/log/log-00000000000000000001";
  const uint64_t record = 96 + 300 * (8 + kElements * 4);
  {
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(32 + 5 * record + 5000));
    file << "xxxx";
  }
  for (int time = 0; time < 3; time++) {
    Store store(copy);
    if (time == 0) {
      ASSERT_EQ(store.damage().size(), 1U);
      EXPECT_THAT(store.damage()[0], HasSubstr("pushes 6 to 19 are lost"));
    }
    EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr("pushes 6 to 19 are lost"));
    EXPECT_THAT(Failure([&] { ApplyRandom(store, store.FindTable("emb"), 21, 21); }),
                HasSubstr("corrupt: table 'emb' can't be written"));
    EXPECT_EQ(AllRows(*store.FindTable("emb")), at_five);
  }
}

TEST(Store, AGapBetweenPagesAndLogIsDamageAndTheLogIsSetAside) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.log_segment_bytes = 20000;  // two pushes
  StoreOptions copy = options;
  copy.directory = scratch / "copy";
  {
    Store store(options);
    ApplyRandom(store, store.OpenTable(Spec()), 1, 20);
    CopyStore(options, copy.directory);
  }
  const std::string log = copy.directory + "/log/";
  std::filesystem::remove(log + "log-00000000000000000001");
  for (int time = 0; time < 2; time++) {
    Store store(copy);
    if (time == 0) {
      ASSERT_EQ(store.damage().size(), 1U);
      EXPECT_THAT(store.damage()[0], HasSubstr("no record of push 1; pushes up to 20 are lost"));
    }
    EXPECT_THAT(store.TroubleOf(*store.FindTable("emb")), HasSubstr("no record of push 1"));
    EXPECT_THAT(Failure([&] { ApplyRandom(store, store.FindTable("emb"), 21, 21); }),
                HasSubstr("corrupt: table 'emb' can't be written"));
  }
  size_t set_aside = 0;
  for (const auto& entry : fs::directory_iterator(log)) {
    if (entry.path().filename().string().starts_with("damaged-")) set_aside++;
  }
  EXPECT_GT(set_aside, 3U);
}

// The log on the disk closes a segment before it opens the next one; the flush of RocksDB and new
// tables need more descriptors.
TEST(Store, AShortageOfDescriptorsEndsByItself) {
  const ScratchDirectory scratch, reference_scratch;
  StoreOptions options = Options(scratch);
  options.log_segment_bytes = 20000;  // two pushes
  Store store(options), reference(Options(reference_scratch));
  const auto table = store.OpenTable(Spec()), same = reference.OpenTable(Spec());
  ApplyRandom(reference, same, 1, 40);
  ApplyRandom(store, table, 1, 3);
  std::thread cycle;
  {
    const graphd::testing::NoDescriptors shortage;
    ApplyRandom(store, table, 4, 30);
    cycle = std::thread([&] { store.WriteBackNow(); });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (store.trouble().empty() && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
    EXPECT_THAT(store.trouble(), HasSubstr("Too many open files"));
  }
  cycle.join();
  EXPECT_EQ(store.trouble(), "");
  EXPECT_LT(store.status().log_bytes, 40000U);  // the segment that is written
  store.OpenTable(Spec("other"));
  ApplyRandom(store, table, 31, 40);
  EXPECT_EQ(AllRows(*table), AllRows(*same));
}

}  // namespace
}  // namespace graphd::store
