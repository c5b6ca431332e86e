// SPDX-License-Identifier: Apache-2.0
#include "client/cache/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "tests/unit/client/cache/cache_rows.h"
#include "tests/unit/client/expect_error.h"

namespace graphd::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> ids(static_cast<size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

// Returns the bytes of shared memory that this process has mapped and that are in memory.
uint64_t SharedBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "RssShmem: %lu", &kib) == 1) return kib * 1024;
  }
  return 0;
}

// The pid of a process that has ended.
pid_t EndedProcess() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(RowCache, RowsOfAllSizesAreReadAsTheyWereStored) {
  const std::vector<size_t> sizes{1, 2, 3, 4, 7, 8, 12, 31, 32, 33, 64, 100, 256, 400, 401, 1024};
  CacheMemory memory({64 * kMiB, 1, sizes});
  RowCache cache(memory);
  const std::vector<int64_t> ids = Range(0, 200);
  for (size_t t = 0; t < sizes.size(); t++) {
    EXPECT_EQ(ReadRows(cache, t, ids, sizes[t]), 0);
    StoreRows(cache, t, ids, sizes[t]);
  }
  for (size_t t = 0; t < sizes.size(); t++) {
    EXPECT_EQ(ReadRows(cache, t, ids, sizes[t]), 200) << "rows of " << sizes[t] << " bytes";
    EXPECT_EQ(ReadRows(cache, t, Range(200, 400), sizes[t]), 0);
  }
  const RowCacheCounts counts = cache.counts();
  EXPECT_EQ(counts.hits, sizes.size() * 200);
  EXPECT_EQ(counts.misses, sizes.size() * 400);
  EXPECT_EQ(counts.inserted, sizes.size() * 200);
  EXPECT_EQ(counts.evicted, 0U);
  EXPECT_EQ(counts.hit_bytes, 200U * std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
}

TEST(RowCache, PositionsSayWhereRowsAre) {
  CacheMemory memory({kMiB, 1, {16}});
  RowCache cache(memory);
  const std::vector<int64_t> ids{5, INT64_MAX, 0, 7}, from{2, 0, 3, 1}, to{6, 1, 4, 3};
  std::vector<std::byte> rows(4 * 16);
  for (size_t i = 0; i < 4; i++) {
    FillRow(0, ids[i], rows.data() + static_cast<size_t>(from[i]) * 16, 16);
  }
  cache.Insert(0, ids, from, rows.data());
  std::vector<std::byte> out(8 * 16, std::byte{1}), expected = out;
  for (size_t i = 0; i < 4; i++) {
    FillRow(0, ids[i], expected.data() + static_cast<size_t>(to[i]) * 16, 16);
  }
  std::vector<uint32_t> missing{9};
  cache.Read(0, ids, to, out.data(), missing);
  EXPECT_TRUE(missing.empty());
  EXPECT_EQ(out, expected);
  cache.Read(0, std::vector<int64_t>{8, 5, 9}, std::vector<int64_t>{0, 1, 2}, out.data(), missing);
  EXPECT_EQ(missing, (std::vector<uint32_t>{0, 2}));
}

TEST(RowCache, ALargerGraphThanTheMemoryEvictsAndStaysWithinIt) {
  for (const uint64_t bytes : {CacheShape::kLeastBytes, kMiB, 40 * kMiB, 600 * kMiB}) {
    const uint64_t before = SharedBytes();
    CacheMemory memory({bytes, 1, {400, 8}});
    RowCache cache(memory);
    EXPECT_LE(cache.capacity(), bytes);
    CounterRng random(1);
    std::vector<int64_t> ids(5000);
    const auto rounds = static_cast<int>(std::min<uint64_t>(bytes / kMiB, 60) + 4);
    for (int round = 0; round < rounds; round++) {
      for (int64_t& id : ids) id = static_cast<int64_t>(random.Below(10'000'000));
      StoreRows(cache, 0, ids, 400);
      StoreRows(cache, 1, ids, 8);
      ASSERT_GE(ReadRows(cache, 0, ids, 400), 0);
      ASSERT_GE(ReadRows(cache, 1, ids, 8), 0);
      ASSERT_LE(cache.used_bytes(), bytes);
      ASSERT_LE(SharedBytes(), before + bytes + 64 * 1024);
    }
    const uint64_t stored = cache.counts().inserted - cache.counts().evicted;
    // Both features have got memory, and most of what is in use has rows.
    EXPECT_GT(ReadRows(cache, 1, ids, 8), 0);
    if (bytes <= 40 * kMiB) {
      EXPECT_GT(stored * 204, bytes / 3);
    }
  }
}

TEST(RowCache, RowsThatAreReadOftenStay) {
  CacheMemory memory({2 * kMiB, 1, {400}});  // about 5,000 rows
  RowCache cache(memory);
  const std::vector<int64_t> hot = Range(0, 1500);
  StoreRows(cache, 0, hot, 400);
  int64_t kept = 0;
  for (int64_t round = 0; round < 100; round++) {
    kept = ReadRows(cache, 0, hot, 400);
    StoreRows(cache, 0, hot, 400);
    // Each of these is read once; together they are forty times as large as the memory.
    StoreRows(cache, 0, Range(10000 + round * 2000, 12000 + round * 2000), 400);
  }
  EXPECT_GT(kept, 1350);
}

int64_t KeepRows(RowCache& cache, size_t table, const std::vector<int64_t>& ids, size_t row_bytes) {
  EXPECT_TRUE(cache.PrepareToKeep(table));
  return cache.Keep(table, ids, Positions(ids.size()), RowsOf(table, ids, row_bytes).data());
}

TEST(RowCache, RowsThatAreKeptStayThoughNobodyReadsThem) {
  CacheMemory memory({2 * kMiB, 1, {400}});  // about 5,000 rows
  RowCache cache(memory, {100'000});
  const std::vector<int64_t> kept = Range(0, 2000);
  StoreRows(cache, 0, Range(500, 700), 400);  // these are in queues already
  // A few sets would have more than 12 of them.
  const int64_t staying = KeepRows(cache, 0, kept, 400);
  EXPECT_GT(staying, 1900);
  EXPECT_EQ(cache.counts().kept, static_cast<uint64_t>(staying));
  EXPECT_EQ(KeepRows(cache, 0, kept, 400), staying);
  EXPECT_EQ(cache.counts().kept, static_cast<uint64_t>(staying));
  for (int64_t round = 0; round < 20; round++) {
    StoreRows(cache, 0, Range(10000 + round * 2000, 12000 + round * 2000), 400);
  }
  EXPECT_EQ(ReadRows(cache, 0, kept, 400), staying);
  // The others are evicted as before.
  EXPECT_GT(ReadRows(cache, 0, Range(48000, 50000), 400), 1000);
  EXPECT_LT(ReadRows(cache, 0, Range(10000, 40000), 400), 3000);
}

TEST(RowCache, KeptRowsAreFoundWhenTheFeatureHasGotMoreMemory) {
  CacheMemory memory({8 * kMiB, 1, {400}});
  RowCache cache(memory);
  const std::vector<int64_t> kept = Range(0, 100);
  const int64_t staying = KeepRows(cache, 0, kept, 400);
  EXPECT_GT(staying, 90);
  EXPECT_EQ(memory.tables()[0].num_extents, 1U);
  for (int64_t round = 0; round < 20; round++) {
    StoreRows(cache, 0, Range(10000 + round * 5000, 15000 + round * 5000), 400);
    ASSERT_EQ(ReadRows(cache, 0, kept, 400), staying) << "round " << round;
  }
  EXPECT_GT(memory.tables()[0].num_extents, 40U);
  EXPECT_EQ(KeepRows(cache, 0, kept, 400), staying);
}

TEST(RowCache, AQuarterOfTheCacheIsLeftToOtherRows) {
  CacheMemory memory({CacheShape::kLeastBytes, 1, {40}});
  RowCache cache(memory, {1'000'000});
  const int64_t staying = KeepRows(cache, 0, Range(0, 100'000), 40);
  const uint64_t capacity = cache.used_bytes() / 48;
  EXPECT_LT(static_cast<uint64_t>(staying), capacity * 3 / 4);
  EXPECT_GT(static_cast<uint64_t>(staying), capacity / 2);
  EXPECT_LT(KeepRows(cache, 0, Range(100'000, 200'000), 40), 10);
  StoreRows(cache, 0, Range(200'000, 200'300), 40);
  EXPECT_GT(ReadRows(cache, 0, Range(200'000, 200'300), 40), 200);
}

TEST(RowCache, TrainersThatKeepTheSameRowsAtTheSameTimeKeepAllOfThem) {
  CacheMemory memory({16 * kMiB, 1, {40}});
  const std::vector<int64_t> ids = Range(0, 20'000);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; i++) {
    children.push_back(::fork());
    if (children.back() == 0) {
      RowCache cache(memory, {200'000});
      const int64_t staying = KeepRows(cache, 0, ids, 40);
      ::_exit(staying > 19'900 && ReadRows(cache, 0, ids, 40) >= staying ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  RowCache cache(memory, {200'000});
  EXPECT_GT(ReadRows(cache, 0, ids, 40), 19'900);
  EXPECT_GT(memory.tables()[0].kept_extents, 40U);
}

TEST(RowCache, FeaturesShareTheMemoryAsTheyNeedIt) {
  CacheMemory memory({64 * kMiB, 1, {400, 4, 4000}});
  RowCache cache(memory);
  // Features have evicted some rows before they got more memory, so it takes several epochs.
  for (int epoch = 0; epoch < 4; epoch++) {
    for (int64_t begin = 0; begin < 400'000; begin += 10'000) {
      StoreRows(cache, 1, Range(begin, begin + 10'000), 4);
      StoreRows(cache, 0, Range(begin / 4, begin / 4 + 2'500), 400);
    }
  }
  const int64_t large = ReadRows(cache, 0, Range(0, 100'000), 400);
  EXPECT_GT(large, 95'000);  // 38 MiB of rows
  EXPECT_GT(ReadRows(cache, 1, Range(0, 400'000), 4), 380'000);
  // There is memory left for a feature that comes later.
  StoreRows(cache, 2, Range(0, 4000), 4000);
  EXPECT_GT(ReadRows(cache, 2, Range(0, 4000), 4000), 200);
  EXPECT_EQ(ReadRows(cache, 0, Range(0, 100'000), 400), large);
}

TEST(RowCache, AFeatureBeginsWithWhatItsRowsNeed) {
  CacheMemory memory({64 * kMiB, 1, {400, 8}});
  RowCache cache(memory, {100'000, 1000});
  StoreRows(cache, 1, Range(0, 1), 8);
  EXPECT_EQ(cache.used_bytes(), memory.extent_bytes());
  const std::vector<int64_t> ids = Range(0, 50'000);  // 20 MiB
  StoreRows(cache, 0, ids, 400);
  EXPECT_GT(ReadRows(cache, 0, ids, 400), 49'500);
}

TEST(RowCache, ManyLargeFeaturesAllGetMemory) {
  constexpr size_t kFeatures = 10;
  for (const uint64_t bytes : {2 * kMiB, 8 * kMiB, 64 * kMiB}) {
    CacheMemory memory({bytes, 1, std::vector<size_t>(kFeatures, 400)});
    RowCache cache(memory, std::vector<uint64_t>(kFeatures, 1'000'000));
    const std::vector<int64_t> ids = Range(0, 2000);
    for (size_t t = 0; t < kFeatures; t++) StoreRows(cache, t, ids, 400);
    for (size_t t = 0; t < kFeatures; t++) {
      EXPECT_GT(ReadRows(cache, t, ids, 400), 100) << "feature " << t << " of " << bytes;
      EXPECT_GE(memory.tables()[t].num_extents, memory.num_extents() / kFeatures / 2);
    }
  }
}

TEST(RowCache, AFeatureThatNeedsLittleLeavesTheRestToALargeOne) {
  CacheMemory memory({8 * kMiB, 1, {400, 400, 8}});
  RowCache cache(memory, {1'000'000, 1000, 1000});
  for (size_t t : {2U, 1U, 0U}) StoreRows(cache, t, {1}, t == 2 ? 8 : 400);
  EXPECT_LE(memory.tables()[1].num_extents, 8U);
  EXPECT_EQ(memory.tables()[2].num_extents, 1U);
  EXPECT_GE(memory.tables()[0].num_extents, memory.num_extents() * 3 / 4);
}

TEST(RowCache, ARowSizeThatIsDamagedInTheMemoryIsNotUsed) {
  CacheMemory memory({kMiB, 1, {40}});
  memory.tables()[0].row_bytes = 4000;
  RowCache cache(memory);
  StoreRows(cache, 0, Range(0, 100), 40);
  EXPECT_EQ(ReadRows(cache, 0, Range(0, 100), 40), 100);
}

TEST(RowCache, RowsThatDoNotFitAreNotStored) {
  CacheMemory memory({CacheShape::kLeastBytes, 1, {0, 100'000, 8}});
  RowCache cache(memory);
  EXPECT_FALSE(cache.CanHold(0));
  EXPECT_FALSE(cache.CanHold(1));
  EXPECT_TRUE(cache.CanHold(2));
  StoreRows(cache, 1, {1, 2}, 100'000);
  EXPECT_EQ(ReadRows(cache, 1, {1, 2}, 100'000), 0);
}

// Threads of several processes store and read overlapping rows in a memory that is far too small.
// Returns whether every row that was found was right.
bool Thrash(RowCache& cache, uint64_t seed, int rounds) {
  CounterRng random(seed);
  std::vector<int64_t> ids(200);
  for (int round = 0; round < rounds; round++) {
    for (int64_t& id : ids) {
      id = static_cast<int64_t>(random.Below(round % 2 == 0 ? 50 : 5000));
    }
    StoreRows(cache, 0, ids, 40);
    StoreRows(cache, 1, ids, 9);
    if (round % 16 == 5) KeepRows(cache, 0, ids, 40);
    if (ReadRows(cache, 0, ids, 40) < 0 || ReadRows(cache, 1, ids, 9) < 0) return false;
  }
  return true;
}

#ifdef __SANITIZE_THREAD__
constexpr int kRounds = 60;
#else
constexpr int kRounds = 400;
#endif

TEST(RowCache, ThreadsNeverReadATornRow) {
  CacheMemory memory({CacheShape::kLeastBytes, 1, {40, 9}});
  RowCache cache(memory);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t t = 0; t < 6; t++) {
    threads.emplace_back([&, t] { wrong += Thrash(cache, t, kRounds) ? 0 : 1; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(cache.counts().hits, 1000U);
  EXPECT_GT(cache.counts().evicted, 1000U);
}

TEST(RowCache, ProcessesNeverReadATornRow) {
  CacheMemory memory({CacheShape::kLeastBytes, 1, {40, 9}});
  std::vector<pid_t> children;
  for (uint64_t seed = 0; seed < 4; seed++) {
    children.push_back(::fork());
    if (children.back() == 0) {
      RowCache cache(memory);
      ::_exit(Thrash(cache, seed, kRounds) ? 0 : 1);
    }
  }
  RowCache cache(memory);
  EXPECT_TRUE(Thrash(cache, 99, kRounds));
  for (const pid_t child : children) {
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(RowCache, ASetThatAKilledProcessHasLockedIsUsedAgain) {
  CacheMemory memory({CacheShape::kLeastBytes, 1, {40}});
  RowCache cache(memory);
  EXPECT_EQ(KeepRows(cache, 0, Range(0, 20), 40), 20);
  StoreRows(cache, 0, Range(0, 2000), 40);
  const int64_t before = ReadRows(cache, 0, Range(0, 2000), 40);
  ASSERT_GT(before, 1000);
  // All sets of the extents are locked, half changed, by a process that has ended.
  const uint64_t locked = 1 | static_cast<uint64_t>(EndedProcess()) << kOwnerShift;
  const size_t set_bytes = (sizeof(CacheSet) + kSetRows * 48 + 63) / 64 * 64;
  for (uint32_t e = 0; e < memory.header().extents_taken; e++) {
    for (size_t at = 0; at + set_bytes <= memory.extent_bytes(); at += set_bytes) {
      auto* set = reinterpret_cast<CacheSet*>(memory.extent(e) + at);
      set->lock = locked + 2 * at;
      std::memset(memory.extent(e) + at + sizeof(CacheSet), 0xee, 100);
    }
  }
  EXPECT_EQ(ReadRows(cache, 0, Range(0, 2000), 40), 0);
  StoreRows(cache, 0, Range(0, 2000), 40);
  EXPECT_GE(ReadRows(cache, 0, Range(0, 2000), 40), before);
  EXPECT_EQ(reinterpret_cast<CacheSet*>(memory.extent(0))->kept, 0U);
  EXPECT_EQ(KeepRows(cache, 0, Range(0, 20), 40), 20);
  // A set that a living process has locked is left to it.
  const uint64_t of_living = 1 | static_cast<uint64_t>(::getppid()) << kOwnerShift;
  for (size_t at = 0; at + set_bytes <= memory.extent_bytes(); at += set_bytes) {
    reinterpret_cast<CacheSet*>(memory.extent(0) + at)->lock = of_living;
  }
  StoreRows(cache, 0, Range(5000, 5100), 40);
  EXPECT_EQ(reinterpret_cast<CacheSet*>(memory.extent(0))->lock, of_living);
}

TEST(RowCache, ProcessesThatAreKilledAtAnyTimeDamageNothing) {
  CacheMemory memory({CacheShape::kLeastBytes, 1, {40, 9}});
  RowCache cache(memory);
  CounterRng random(5);
  for (int round = 0; round < 60; round++) {
    const pid_t child = ::fork();
    if (child == 0) {
      RowCache mine(memory);
      for (uint64_t seed = 0;; seed++) {
        if (!Thrash(mine, seed, 20)) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random.Below(4000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it has read a wrong row";
    ASSERT_TRUE(Thrash(cache, 1000 + static_cast<uint64_t>(round), 4));
  }
}

TEST(RowCache, ANumberOfExtentsThatIsDamagedLeadsToNoAccessOutside) {
  CacheMemory memory({kMiB, 1, {40}});
  RowCache cache(memory);
  StoreRows(cache, 0, Range(0, 100), 40);
  CacheTable& table = memory.tables()[0];
  table.num_extents = 1'000'000;
  for (auto& extent : table.extents) extent = 65535;
  memory.header().extents_taken = 4'000'000'000U;
  EXPECT_GE(ReadRows(cache, 0, Range(0, 1000), 40), 0);
  StoreRows(cache, 0, Range(0, 1000), 40);
  EXPECT_GE(ReadRows(cache, 0, Range(0, 1000), 40), 0);
}

TEST(RowCache, TooLittleMemoryIsRefused) {
  ExpectError(
      [] {
        CacheMemory({CacheShape::kLeastBytes - 1, 1, {40}});
      },
      ErrorCode::kInvalid, "too small; give it 256 KiB or more, or none (GRAPHD_ROW_CACHE");
  ExpectError(
      [] {
        CacheMemory({CacheShape::kLeastBytes, 1, std::vector<size_t>(2000, 4)});
      },
      ErrorCode::kInvalid, "no room for 2000 features");
  ExpectError(
      [] {
        CacheMemory({uint64_t{1} << 45, 1, {40}});
      },
      ErrorCode::kOverloaded, "give it less memory, or free some on this machine");
}

}  // namespace
}  // namespace graphd::testing
