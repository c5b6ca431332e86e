// SPDX-License-Identifier: Apache-2.0
#include "store/rows/memory_budget.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <numeric>
#include <thread>

#include "base/rng.h"
#include "base/strings.h"
#include "store/rows/arena_reader.h"
#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::HasSubstr;
using namespace graphd::store::testing;

// A table with pages of ten bytes.
class FakePages : public Evictable {
 public:
  explicit FakePages(MemoryBudget* budget) : budget_(budget) { budget_->Add(this); }
  ~FakePages() override { budget_->Remove(this); }
  void Load(size_t page, Outcome when_asked) {
    MemoryBudget::Allocation allocation = budget_->Allocate(10, "fake");
    allocation.Use(10);
    when_asked_[page] = when_asked;
  }
  void Clean() {
    for (std::atomic<Outcome>& each : when_asked_) {
      if (each == Outcome::kDirty) each = Outcome::kEvicted;
    }
  }
  uint64_t evictable_pages() const noexcept override { return when_asked_.size(); }
  Outcome Evict(uint64_t page, uint64_t& freed) noexcept override {
    const Outcome outcome = when_asked_[page];
    if (outcome == Outcome::kEvicted) {
      freed = 10;
      when_asked_[page] = Outcome::kKept;
    }
    return outcome;
  }

 private:
  MemoryBudget* budget_;
  std::array<std::atomic<Outcome>, 5> when_asked_ = {Outcome::kKept, Outcome::kKept, Outcome::kKept,
                                                     Outcome::kKept, Outcome::kKept};
};

TEST(MemoryBudget, CleanPagesAreEvictedAndDirtyPagesWrittenFirst) {
  MemoryBudget budget(30);
  FakePages pages(&budget);
  int asked = 0;
  budget.SetCleaner([&] {
    asked++;
    pages.Clean();
    budget.Changed();
    budget.CleanDone(nullptr);
  });
  pages.Load(0, Evictable::Outcome::kDirty);
  pages.Load(1, Evictable::Outcome::kEvicted);
  pages.Load(2, Evictable::Outcome::kDirty);
  EXPECT_EQ(budget.used(), 30U);
  pages.Load(3, Evictable::Outcome::kEvicted);
  pages.Load(4, Evictable::Outcome::kEvicted);
  const int before = asked;
  pages.Load(0, Evictable::Outcome::kDirty);
  pages.Load(1, Evictable::Outcome::kDirty);
  pages.Load(2, Evictable::Outcome::kDirty);
  pages.Load(3, Evictable::Outcome::kDirty);
  EXPECT_GT(asked, before);
  EXPECT_EQ(budget.used(), 30U);
}

TEST(MemoryBudget, AWriteErrorIsPassedOn) {
  MemoryBudget budget(30);
  FakePages pages(&budget);
  std::thread cleaner;
  budget.SetCleaner([&] {  // asynchronously, as in a store
    if (cleaner.joinable()) return;
    cleaner = std::thread([&] {
      const Error error(ErrorCode::kIo, "the disk is broken");
      budget.CleanDone(&error);
    });
  });
  for (size_t page = 0; page < 3; page++) pages.Load(page, Evictable::Outcome::kDirty);
  const std::string failure = Failure([&] { pages.Load(3, Evictable::Outcome::kDirty); });
  EXPECT_THAT(failure, HasSubstr("io: fake: its memory is full, 30"));
  EXPECT_THAT(failure, HasSubstr("the disk is broken"));
  cleaner.join();
}

TEST(MemoryBudget, APageLargerThanTheBudgetIsAdmittedAlone) {
  MemoryBudget budget(8);
  FakePages pages(&budget);
  budget.SetCleaner([&] { budget.CleanDone(nullptr); });
  pages.Load(0, Evictable::Outcome::kEvicted);
  pages.Load(1, Evictable::Outcome::kEvicted);
  EXPECT_EQ(budget.used(), 10U);
  budget.Reserve(10, 1, "fake");
  budget.Unreserve(10);
  EXPECT_THAT(Failure([&] { budget.Reserve(10, 2, "fake"); }),
              HasSubstr("overloaded: fake: a push to 2 pages needs 10"));
}

TEST(MemoryBudget, ReservationsAreServedInOrder) {
  MemoryBudget budget(30);
  budget.Reserve(20, 2, "first");
  std::atomic<int> got = 0;
  std::atomic<pid_t> id = 0;
  std::thread large([&] {
    id = ::gettid();
    budget.Reserve(30, 3, "large");
    EXPECT_EQ(got++, 0);
    budget.Unreserve(30);
  });
  const auto waits = [&] {
    std::ifstream stat(StrCat("/proc/self/task/", id.load(), "/stat"));
    std::string number, name, state;
    stat >> number >> name >> state;
    return state == "S";
  };
  while (id == 0 || !waits()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread small([&] {  // it would fit, but the large one must not starve
    budget.Reserve(10, 1, "small");
    EXPECT_EQ(got++, 1);
    budget.Unreserve(10);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(got, 0);
  budget.Unreserve(20);
  large.join();
  small.join();
}

// Returns the memory that the values of a table's rows take.
uint64_t Blocks(const Table& table) {
  struct stat status {};
  EXPECT_EQ(::fstat(table.arena().reader_fd(), &status), 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

struct Shape {
  size_t elements;
  OptimizerState state;
  UpdateKind kind;
};

class BoundedStore : public ::testing::TestWithParam<Shape> {};

// Three clients push to a table eight times as large as the budget, each to rows of its own. In
// another table all elements of a row are the same number, so that a torn row is detected.
TEST_P(BoundedStore, IsBitExactAndStaysWithinTheBudget) {
  constexpr int64_t kRowsEach = 9600;
  constexpr uint64_t kPushers = 3;
  const auto [elements, state, kind] = GetParam();
  const UpdateRule rule{.kind = kind, .lr = 0.1F};
  TableSpec spec = Spec("large", state);
  spec.row_shape = {static_cast<int64_t>(elements)};
  spec.rows = kRowsEach * static_cast<int64_t>(kPushers) + 17;
  TableSpec numbers = Spec("numbers", OptimizerState::kNone);
  numbers.dtype = DType::kInt32;
  numbers.initializer = {};
  numbers.rows = 2000;
  const uint64_t table_bytes =
      static_cast<uint64_t>(spec.rows) * (elements + StateFloats(state, elements)) * 4;
  const ScratchDirectory scratch, reference_scratch;
  StoreOptions options = Options(scratch);
  options.memory_bytes = table_bytes / 8;
  options.write_back_seconds = 0.05;
  Store reference(Options(reference_scratch));
  const auto wanted = reference.OpenTable(spec);
  {
    Store store(options);
    const auto table = store.OpenTable(spec);
    const auto same = store.OpenTable(numbers);
    const ArenaReader mapped(UniqueFd(::fcntl(same->arena().reader_fd(), F_DUPFD_CLOEXEC, 0)),
                             numbers.rows, kElements * 4);
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> read = 0, most = 0;
    std::vector<std::thread> others;
    for (uint64_t r = 0; r < 2; r++) {
      others.emplace_back([&, r] {
        CounterRng rng(r);
        std::vector<int32_t> out(kElements);
        auto* bytes = reinterpret_cast<std::byte*>(out.data());
        while (!stop) {
          const auto row = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(numbers.rows)));
          if (r == 0) {
            same->Read({&row, 1}, bytes);
          } else if (!mapped.TryRead(row, bytes)) {
            continue;
          }
          for (const int32_t number : out) ASSERT_EQ(number, out[0]);
          read++;
        }
      });
    }
    others.emplace_back([&] {
      while (!stop) {
        most = std::max(most.load(), Blocks(*table) + Blocks(*same));
        EXPECT_LE(table->resident_bytes() + same->resident_bytes(), options.memory_bytes);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    std::vector<std::thread> pushers;
    for (uint64_t client = 0; client < kPushers; client++) {
      const auto begin = static_cast<int64_t>(client) * kRowsEach;
      pushers.emplace_back([&, client, begin, elements = elements] {
        for (uint64_t i = 1; i <= 150; i++) {
          store.Apply(table,
                      RandomPush(client, i, rule, 12, begin, begin + kRowsEach, elements).push());
        }
      });
      for (uint64_t i = 1; i <= 150; i++) {
        reference.Apply(wanted,
                        RandomPush(client, i, rule, 12, begin, begin + kRowsEach, elements).push());
      }
    }
    for (uint64_t n = 1; n <= 100; n++) {
      CounterRng rng(n);
      std::vector<int64_t> rows(5);
      for (int64_t& row : rows) row = static_cast<int64_t>(rng.Below(2000));
      const std::vector<int32_t> payload(rows.size() * kElements, static_cast<int32_t>(n));
      Push push;
      push.client = {9, 9};
      push.sequence = n;
      push.rows = rows;
      push.payload = std::as_bytes(std::span(payload));
      store.Apply(same, push);
    }
    for (std::thread& pusher : pushers) pusher.join();
    EXPECT_EQ(WithStates(store, "large"), WithStates(reference, "large"));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (read < 1000 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    stop = true;
    for (std::thread& other : others) other.join();
    EXPECT_GE(read, 1000U);
    EXPECT_GT(most, 0U);
    EXPECT_LE(most, options.memory_bytes + options.memory_bytes / 10);
  }
  options.memory_bytes /= 2;
  Store again(options);
  EXPECT_EQ(WithStates(again, "large"), WithStates(reference, "large"));
  EXPECT_LE(again.FindTable("large")->resident_bytes(), options.memory_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BoundedStore,
    ::testing::Values(Shape{32, OptimizerState::kAdagrad, UpdateKind::kAdagrad},
                      Shape{33, OptimizerState::kAdam, UpdateKind::kAdam},  // blocks are shared
                      Shape{8, OptimizerState::kRowAdagrad, UpdateKind::kRowAdagrad}));

TEST(BoundedStoreLimits, APushLargerThanTheBudgetIsRejectedButReplayedFromALog) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  Store store(options);
  TableSpec spec = Spec();
  spec.row_shape = {64};
  const auto table = store.OpenTable(spec);
  for (uint64_t i = 1; i <= 5; i++) {
    store.Apply(table, RandomPush(1, i, kAdagrad, 300, 0, kRows, 64).push());
  }
  options.directory = scratch / "copy";
  options.memory_bytes = table->page_bytes() * 4;  // an eighth is for RocksDB
  CopyStore(Options(scratch), options.directory);
  Store bounded(options);
  const auto copy = bounded.FindTable("emb");
  EXPECT_TRUE(bounded.damage().empty());
  EXPECT_EQ(bounded.status().replayed, 5U);
  EXPECT_EQ(AllRows(*copy), AllRows(*table));
  EXPECT_LE(copy->resident_bytes(), options.memory_bytes);
  EXPECT_THAT(
      Failure([&] { bounded.Apply(copy, RandomPush(1, 6, kAdagrad, 300, 0, kRows, 64).push()); }),
      HasSubstr("overloaded: table 'emb': a push to 16 pages needs 504 KiB at once"));
  // A push to three pages fits.
  bounded.Apply(copy, RandomPush(1, 6, kAdagrad, 300, 0, 3 * kPageRows, 64).push());
}

TEST(BoundedStoreLimits, PagesLargerThanTheBudgetAreLoadedOneByOne) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.memory_bytes = 4096;
  Store store(options);
  const auto table = store.OpenTable(Spec());
  const auto other = store.OpenTable(Spec("other"));
  std::vector<std::thread> threads;
  for (uint64_t client = 1; client <= 3; client++) {
    threads.emplace_back([&, client] {
      const auto begin = static_cast<int64_t>(client) * kPageRows;
      for (uint64_t i = 1; i <= 20; i++) {
        store.Apply(
            client == 2 ? other : table,
            RandomPush(client, i, kAdagrad, 30, begin, begin + kPageRows, kElements).push());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(AllRows(*table).size(), kRows * kElements);
  EXPECT_LE(table->resident_bytes() + other->resident_bytes(), 8192U);
}

TEST(BoundedStoreLimits, PagesBeingWrittenToTheDiskCount) {
  const ScratchDirectory scratch;
  StoreOptions options = Options(scratch);
  options.memory_bytes = uint64_t{64} << 20;
  Store store(options);
  TableSpec spec = Spec("large", OptimizerState::kNone);
  spec.row_shape = {4096};  // a page is a MiB
  spec.rows = 160 * kPageRows;
  const auto table = store.OpenTable(spec);
  std::atomic<bool> stop = false;
  uint64_t most = 0;
  std::thread looks([&] {
    while (!stop) {
      most = std::max(most, store.status().resident_bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (uint64_t i = 0; i < 160; i++) {
    const auto begin = static_cast<int64_t>(i) * kPageRows;
    const UpdateRule set{.kind = UpdateKind::kSet};
    store.Apply(table, RandomPush(1, i + 1, set, 8, begin, begin + kPageRows, 4096).push());
  }
  stop = true;
  looks.join();
  EXPECT_GT(most, options.memory_bytes / 2);
  EXPECT_LE(most, options.memory_bytes + options.memory_bytes / 16);
}

#ifdef GRAPHD_SANITIZED
constexpr bool kOwnMemoryIsMeasurable = false;  // a sanitizer's shadow memory counts, too
#else
constexpr bool kOwnMemoryIsMeasurable = true;
#endif

// A table takes little more memory than its values and states.
TEST(TableMemory, IsThatOfRowsAndStates) {
  const auto private_bytes = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
    }
    return 0ULL;
  };
  constexpr int64_t kTableRows = 100'000;
  constexpr size_t kFloats = 128;
  for (const OptimizerState state : {OptimizerState::kAdagrad, OptimizerState::kRowAdagrad}) {
    const ScratchDirectory scratch;
    Store store(Options(scratch));
    TableSpec spec = Spec("emb", state);
    spec.row_shape = {kFloats};
    spec.rows = kTableRows;
    const uint64_t before = private_bytes();
    const auto table = store.OpenTable(spec);
    UpdateRule rule;
    rule.kind = state == OptimizerState::kAdagrad ? UpdateKind::kAdagrad : UpdateKind::kRowAdagrad;
    std::vector<int64_t> rows(1000);
    const std::vector<float> gradients(rows.size() * kFloats, 1);
    Push push;
    push.rule = rule;
    push.client = {1, 0};
    push.payload = std::as_bytes(std::span(gradients));
    for (int64_t first = 0; first < kTableRows; first += 1000) {
      std::iota(rows.begin(), rows.end(), first);
      push.rows = rows;
      push.sequence++;
      store.Apply(table, push);
    }
    const uint64_t states = kOwnMemoryIsMeasurable ? private_bytes() - before
                                                   : kTableRows * StateFloats(state, kFloats) * 4;
    const uint64_t took = Blocks(*table) + states;
    const uint64_t ideal = kTableRows * (kFloats + StateFloats(state, kFloats)) * 4;
    EXPECT_GE(took, ideal);
    EXPECT_LE(took, ideal + ideal / 20) << OptimizerStateName(state);
    EXPECT_GE(table->resident_bytes(), ideal);
    EXPECT_LE(table->resident_bytes(), ideal + 8192);
    std::cout << OptimizerStateName(state) << ": " << took << " bytes, "
              << static_cast<double>(took) / static_cast<double>(ideal) << " of the ideal\n";
  }
}

}  // namespace
}  // namespace graphd::store
