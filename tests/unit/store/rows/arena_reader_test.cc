// SPDX-License-Identifier: Apache-2.0
#include "store/rows/arena_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/rng.h"
#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::HasSubstr;
using namespace graphd::store::testing;

UniqueFd ReaderFd(const Table& table) {
  return UniqueFd(::fcntl(table.arena().reader_fd(), F_DUPFD_CLOEXEC, 0));
}

TEST(ArenaReader, ReadsResidentRowsAndReportsMissingOnes) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  const ArenaReader reader(ReaderFd(*table), kRows, kElements * sizeof(float));
  std::vector<float> out(kElements);
  auto* bytes = reinterpret_cast<std::byte*>(out.data());
  EXPECT_FALSE(reader.TryRead(0, bytes));
  const std::vector<int64_t> touched = {70, 999};  // pages 1 and 15
  table->Touch(touched);
  std::vector<float> wanted(4 * kElements), got(4 * kElements);
  const std::vector<int64_t> rows = {127, 3, 64, 960}, there = {127, 64, 960};
  table->Read(there, reinterpret_cast<std::byte*>(wanted.data()));
  std::vector<uint32_t> missing;
  reader.Read(rows, {}, reinterpret_cast<std::byte*>(got.data()), missing);
  EXPECT_EQ(missing, std::vector<uint32_t>{1});
  got.erase(got.begin() + kElements, got.begin() + 2 * kElements);
  wanted.resize(got.size());
  EXPECT_EQ(got, wanted);
  missing.clear();
  const std::vector<int64_t> places = {2, 0, 1};
  std::vector<float> scattered(3 * kElements);
  reader.Read(there, places, reinterpret_cast<std::byte*>(scattered.data()), missing);
  EXPECT_TRUE(missing.empty());
  for (size_t i = 0; i < 3; i++) {
    EXPECT_TRUE(std::equal(&wanted[i * kElements], &wanted[i * kElements] + kElements,
                           &scattered[static_cast<size_t>(places[i]) * kElements]));
  }
  const std::vector<int64_t> beyond = {kRows};
  EXPECT_THAT(Failure([&] { reader.Read(beyond, {}, bytes, missing); }), HasSubstr("no row 1000"));
}

TEST(ArenaReader, RejectsMemoryOfAnotherShape) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  EXPECT_THAT(Failure([&] { ArenaReader(ReaderFd(*table), 100 * kRows, 400); }),
              HasSubstr("and should have"));
  EXPECT_THAT(Failure([&] { ArenaReader(ReaderFd(*table), INT64_MAX, 400); }),
              HasSubstr("can't have"));
}

TEST(ArenaReader, CantWrite) {
  const ScratchDirectory scratch;
  Store store(Options(scratch));
  const auto table = store.OpenTable(Spec());
  const UniqueFd fd = ReaderFd(*table);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0), MAP_FAILED);
  EXPECT_EQ(::pwrite(fd.get(), "x", 1, 0), -1);
  struct stat status {};
  ASSERT_EQ(::fstat(fd.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0222U, 0U);  // it can't be reopened for writing
}

// A page stays locked if its daemon was killed.
TEST(ArenaReader, GivesUpOnALockThatIsNeverReleased) {
  Arena arena("test", {64, 4, 0});
  uint64_t taken = 0;
  arena.Reserve(0, taken);
  arena.Unlock(0, arena.Lock(0));
  const ArenaReader reader(UniqueFd(::fcntl(arena.reader_fd(), F_DUPFD_CLOEXEC, 0)), 64, 4);
  std::byte out[4];
  EXPECT_TRUE(reader.TryRead(0, out));
  const uint64_t word = arena.Lock(0);
  EXPECT_FALSE(reader.TryRead(0, out));
  arena.UnlockUnchanged(0, word);
  EXPECT_TRUE(reader.TryRead(0, out));
}

TEST(ArenaReader, NeverSeesATornRow) {
  for (const size_t bytes : {size_t{8}, size_t{12}, size_t{33}, size_t{512}, size_t{516}}) {
    const ScratchDirectory scratch;
    Store store(Options(scratch));
    TableSpec spec = Spec("rows", OptimizerState::kNone);
    spec.dtype = DType::kUInt8;
    spec.row_shape = {static_cast<int64_t>(bytes)};
    spec.initializer = {};
    const auto table = store.OpenTable(spec);
    const ArenaReader reader(ReaderFd(*table), kRows, bytes);
    std::atomic<bool> stop = false;
    std::atomic<int> changes = 0;
    std::vector<std::thread> readers;
    for (uint64_t r = 0; r < 2; r++) {
      readers.emplace_back([&, r] {
        CounterRng rng(r);
        std::vector<std::byte> out(bytes);
        std::byte last{};
        while (!stop) {
          if (!reader.TryRead(static_cast<int64_t>(rng.Below(128)), out.data())) continue;
          for (const std::byte b : out) ASSERT_EQ(b, out[0]);
          if (out[0] != last) changes++;
          last = out[0];
        }
      });
    }
    std::vector<int64_t> rows(128);
    std::iota(rows.begin(), rows.end(), int64_t{0});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (uint64_t n = 1; n <= 200 || changes < 200; n++) {
      if (std::chrono::steady_clock::now() > deadline) break;
      const std::vector<std::byte> payload(rows.size() * bytes, static_cast<std::byte>(n));
      Push push;
      push.client = {1, 1};
      push.sequence = n;
      push.rows = rows;
      push.payload = payload;
      store.Apply(table, push);
    }
    stop = true;
    for (std::thread& thread : readers) thread.join();
    EXPECT_GE(changes, 200);
  }
}

// Pages of 4 KiB of values and of states.
TEST(Arena, StatesThatAreMadeWhilePagesComeAndGoHaveTheMemoryOfThePagesThatStay) {
  Arena arena("test", {.rows = 3 * kPageRows, .row_bytes = 64, .small_pages = true});
  const auto load = [&](uint64_t page) {
    uint64_t taken = 0;
    const uint64_t word = arena.Lock(page);
    arena.Reserve(page, taken);
    arena.Unlock(page, word);
    return taken;
  };
  const auto evict = [&](uint64_t page) {
    const uint64_t word = arena.Lock(page);
    const uint64_t given = arena.Release(page);
    arena.UnlockAbsent(page, word);
    return given;
  };
  EXPECT_EQ(load(0) + load(1), 8192U);
  Arena::States states = arena.MakeStates(16);
  EXPECT_EQ(evict(0), 4096U);
  EXPECT_EQ(load(2), 4096U);
  EXPECT_EQ(arena.AdoptStates(16, std::move(states)), 8192U);
  EXPECT_EQ(load(0), 8192U);
  for (uint64_t page = 0; page < 3; page++) EXPECT_EQ(evict(page), 8192U) << page;
}

}  // namespace
}  // namespace graphd::store
