// SPDX-License-Identifier: Apache-2.0
// Reads features over TCP with and without a row cache, from real daemons.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/directory.h"
#include "base/rng.h"
#include "client/environment.h"
#include "client/routing/graph_access.h"
#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"
#include "tests/support/raw_client.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/remote_features.h"
#include "wire/graph_messages.h"
#include "wire/status.h"

namespace graphd::testing {
namespace {

using Daemons = std::vector<std::vector<int>>;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class CachedReads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    served_ = std::make_unique<ServedGraphFixture>(Daemons{{0}, {1}});
  }
  static void TearDownTestSuite() { served_.reset(); }
  static std::unique_ptr<ServedGraphFixture> served_;
};
std::unique_ptr<ServedGraphFixture> CachedReads::served_;

// Loads epochs with all features. Returns a digest of all that the batches have.
uint64_t Digest(const DistGraph& graph, int epochs, int workers) {
  const NeighborSampler sampler({5, 5});
  std::vector<int64_t> seeds(3000);
  std::iota(seeds.begin(), seeds.end(), 500);
  LoaderOptions options;
  options.batch_size = 300;
  options.num_workers = workers;
  options.shuffle = true;
  options.seed = 4;
  options.input_features = {{"wide"}, {"orig_id"}, {"wide"}};
  options.seed_features = {{"label"}};
  DistNodeDataLoader loader(graph, seeds, sampler, options);
  uint64_t digest = 0;
  const auto add = [&](const Tensor& tensor) {
    for (size_t i = 0; i + 8 <= tensor.num_bytes(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, tensor.data() + i, 8);
      digest = CombineKeys(digest, word);
    }
  };
  for (int epoch = 0; epoch < epochs; epoch++) {
    loader.StartEpoch(epoch);
    while (auto batch = loader.Next()) {
      for (const auto& tensor : batch->input_features) add(tensor);
      for (const auto& tensor : batch->seed_features) add(tensor);
      for (const Block& block : batch->blocks) {
        for (int64_t node : block.src_nodes[0]) {
          digest = CombineKeys(digest, static_cast<uint64_t>(node));
        }
      }
    }
  }
  return digest;
}

TEST_F(CachedReads, BatchesAreTheSameAndFewerBytesTravel) {
  // A trainer that maps the features shares no requests.
  const DistGraph mapped(Initialize(served_->TrainerOptions(Transport::kAuto)));
  const uint64_t expected = Digest(mapped, 2, 0);
  const DistGraph plain(Initialize(Remote(*served_, 0)));
  EXPECT_EQ(Digest(plain, 2, 0), expected);
  const uint64_t plain_bytes = plain.traffic().row_bytes;
  const DistGraph threads(Initialize(Remote(*served_, 0)));
  EXPECT_EQ(Digest(threads, 2, 3), expected);
  for (const int workers : {0, 3}) {
    const DistGraph cached(Initialize(Remote(*served_, 64 * kMiB)));
    EXPECT_EQ(Digest(cached, 2, workers), expected);
    const RowCacheStatistics statistics = cached.row_cache_statistics();
    EXPECT_LT(cached.traffic().row_bytes, plain_bytes / 2);
    EXPECT_GT(statistics.hits, statistics.misses / 2);
    EXPECT_GT(statistics.used_bytes, 0U);
    EXPECT_LE(statistics.capacity_bytes, 64 * kMiB);
    // Rows that were found did not travel; ids that a request names are few bytes beside the rows.
    // Without a cache, too, a batch requests the wide feature once, which it wants twice.
    EXPECT_NEAR(static_cast<double>(cached.traffic().row_bytes + statistics.hit_bytes),
                2 * static_cast<double>(plain_bytes), 0.04 * static_cast<double>(plain_bytes));
  }
  EXPECT_EQ(plain.row_cache_statistics().capacity_bytes, 0U);
}

TEST_F(CachedReads, ASmallCacheThrashesAndIsRight) {
  const DistGraph mapped(Initialize(served_->TrainerOptions(Transport::kAuto)));
  const DistGraph cached(Initialize(Remote(*served_, CacheShape::kLeastBytes)));
  EXPECT_EQ(Digest(cached, 1, 2), Digest(mapped, 1, 2));
  EXPECT_GT(cached.row_cache_statistics().evicted, 1000U);
  EXPECT_LE(cached.row_cache_statistics().capacity_bytes, CacheShape::kLeastBytes);
}

TEST_F(CachedReads, DuplicatesOfOneReadAreRequestedOnce) {
  const DistGraph graph(Initialize(Remote(*served_, 16 * kMiB)));
  const DistGraph plain(Initialize(Remote(*served_, 0)));
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 9000; i++)
    ids.push_back(i % 3 * 29000 + i % 7);  // both partitions own some
  for (int round = 0; round < 2; round++) {
    ASSERT_TRUE(SameBits(graph.ndata("wide").Read(ids), plain.ndata("wide").Read(ids)));
  }
  EXPECT_EQ(graph.traffic().row_bytes, 21U * (512 + 4));
  EXPECT_EQ(graph.row_cache_statistics().hits, 9000U);
  EXPECT_EQ(graph.row_cache_statistics().inserted, 21U);
}

constexpr int kThreads = 8;

// Reads the same rows in several threads, which begin at the same time. Returns how many of them
// got other rows than those that are expected.
int ReadAtTheSameTime(const DistGraph& graph, const std::vector<int64_t>& ids,
                      const Tensor& expected) {
  std::atomic<int> waiting{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&] {
      const DistTensor wide = graph.ndata("wide");
      for (waiting++; waiting < kThreads;) std::this_thread::yield();
      wrong += SameBits(wide.Read(ids), expected) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

// Returns whether one attempt of several succeeds. On a busy machine the threads of an attempt may
// run one after another, and then they have no requests to share, or they no longer wait for each
// other's.
template <class Attempt>
bool SucceedsOnce(const Attempt& attempt) {
  for (int i = 0; i < 30; i++) {
    if (attempt()) return true;
  }
  return false;
}

TEST_F(CachedReads, RowsThatThreadsReadAtTheSameTimeAreRequestedOnce) {
  const DistGraph plain(Initialize(Remote(*served_, 0)));
  const std::vector<int64_t> ids = SomeIds(8000, ServedGraphFixture::kNodes, 5);
  const Tensor expected = plain.ndata("wide").Read(ids);
  EXPECT_TRUE(SucceedsOnce([&] {
    const DistGraph graph(Initialize(Remote(*served_, 64 * kMiB)));
    EXPECT_EQ(ReadAtTheSameTime(graph, ids, expected), 0);
    const RowCacheStatistics statistics = graph.row_cache_statistics();
    EXPECT_EQ(statistics.hits + statistics.misses, kThreads * ids.size());
    // Rows whose set another thread changes are not stored, and so they are requested again.
    return graph.traffic().row_bytes < plain.traffic().row_bytes * 5 / 4;
  }));
}

TEST_F(CachedReads, ThreadsShareRequestsWithoutACache) {
  const DistGraph plain(Initialize(Remote(*served_, 0)));
  std::vector<int64_t> ids(8000);
  std::iota(ids.begin(), ids.end(), 25000);  // both partitions own some
  ids.insert(ids.end(), {25000, 32999});
  const Tensor expected = plain.ndata("wide").Read(ids);
  EXPECT_TRUE(SucceedsOnce([&] {
    const DistGraph graph(Initialize(Remote(*served_, 0)));
    EXPECT_EQ(ReadAtTheSameTime(graph, ids, expected), 0);
    EXPECT_EQ(graph.row_cache_statistics().hits + graph.row_cache_statistics().misses, 0U);
    // A thread that begins when the others have ended requests all rows again.
    return graph.traffic().row_bytes < plain.traffic().row_bytes * kThreads * 3 / 4;
  }));
}

TEST_F(CachedReads, ABatchRequestsAFeatureOnceThatItWantsTwice) {
  const DistGraph graph(Initialize(Remote(*served_, 0)));
  const auto bytes_of = [&](const std::vector<NodeFeature>& features) {
    LoaderOptions options;
    options.batch_size = 1000;
    options.input_features = features;
    const NeighborSampler sampler({5, 5});
    std::vector<int64_t> seeds(1000);
    std::iota(seeds.begin(), seeds.end(), 500);
    DistNodeDataLoader loader(graph, seeds, sampler, options);
    loader.StartEpoch(0);
    const uint64_t before = graph.traffic().row_bytes;
    const auto batch = loader.Next();
    EXPECT_TRUE(SameBits(batch->input_features.front(), batch->input_features.back()));
    return graph.traffic().row_bytes - before;
  };
  EXPECT_LT(bytes_of({{"wide"}, {"wide"}}), bytes_of({{"wide"}}) * 11 / 10);
}

TEST_F(CachedReads, ThreadsThatSampleAtTheSameTimeRequestRowsOnce) {
  EXPECT_TRUE(SucceedsOnce([&] {
    const DistGraph graph(Initialize(Remote(*served_, 64 * kMiB)));
    static_cast<void>(Digest(graph, 1, 6));
    // A row of the wide feature has 512 bytes, and most rows are of it and of orig_id.
    const uint64_t cached_bytes = graph.row_cache_statistics().inserted * (512 + 16) / 2;
    return graph.traffic().row_bytes < cached_bytes * 9 / 8;
  }));
}

TEST_F(CachedReads, RowsThatAreKeptAreRequestedOnceAndStay) {
  const DistGraph graph(Initialize(Remote(*served_, 4 * kMiB)));
  const DistGraph plain(Initialize(Remote(*served_, 0)));
  const DistTensor wide = graph.ndata("wide");
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < 1000; i++) kept.push_back(i * 59);
  kept.push_back(0);  // counts once
  const int64_t staying = wide.KeepCached(kept);
  EXPECT_GT(staying, 950);
  EXPECT_LE(staying, 1000);
  EXPECT_EQ(graph.row_cache_statistics().kept, static_cast<uint64_t>(staying));
  for (uint64_t seed = 0; seed < 10; seed++) {
    static_cast<void>(wide.Read(SomeIds(20000, ServedGraphFixture::kNodes, seed)));
  }
  const uint64_t hits = graph.row_cache_statistics().hits;
  EXPECT_TRUE(SameBits(wide.Read(kept), plain.ndata("wide").Read(kept)));
  EXPECT_GE(graph.row_cache_statistics().hits - hits, static_cast<uint64_t>(staying));
  EXPECT_EQ(plain.ndata("wide").KeepCached(kept), 0);
  ExpectError([&] { wide.KeepCached(std::vector<int64_t>{ServedGraphFixture::kNodes}); },
              ErrorCode::kInvalid, "60000");
}

TEST_F(CachedReads, TheFirstRowsAreKeptIfThereIsNoRoomForAll) {
  const DistGraph graph(Initialize(Remote(*served_, 4 * kMiB)));
  const DistTensor wide = graph.ndata("wide");
  std::vector<int64_t> all(ServedGraphFixture::kNodes);
  std::iota(all.rbegin(), all.rend(), 0);
  const int64_t staying = wide.KeepCached(all);
  EXPECT_GT(staying, 2000);
  EXPECT_LT(staying, 8000);
  static_cast<void>(wide.Read(SomeIds(20000, ServedGraphFixture::kNodes, 1)));
  const uint64_t hits = graph.row_cache_statistics().hits;
  static_cast<void>(wide.Read(std::span(all).first(500)));
  EXPECT_EQ(graph.row_cache_statistics().hits, hits + 500);
}

// A trainer in a process of its own; returns whether it has found the rows that another one has
// stored, and then goes on until it is killed.
bool ReadAsASecondTrainer(const ServedGraphFixture& served, const std::vector<int64_t>& ids,
                          const std::vector<int64_t>& more, int ready) {
  const DistGraph plain(Initialize(Remote(served, 0))),
      other(Initialize(Remote(served, 32 * kMiB)));
  if (!SameBits(other.ndata("wide").Read(ids), plain.ndata("wide").Read(ids))) return false;
  if (other.row_cache_statistics().misses > 100) return false;
  static_cast<void>(other.ndata("wide").Read(more));
  if (::write(ready, "x", 1) != 1) return false;
  for (uint64_t seed = 3;; seed++) {
    static_cast<void>(other.ndata("wide").Read(SomeIds(500, ServedGraphFixture::kNodes, seed)));
  }
}

TEST_F(CachedReads, TrainersOfAMachineShareTheCacheAlsoAfterAKill) {
  const std::vector<int64_t> ids = SomeIds(5000, ServedGraphFixture::kNodes, 1);
  const std::vector<int64_t> more = SomeIds(5000, ServedGraphFixture::kNodes, 2);
  int go[2], ends[2];
  ASSERT_EQ(::pipe(go) | ::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char told = 0;
    try {
      if (::read(go[0], &told, 1) == 1) ReadAsASecondTrainer(*served_, ids, more, ends[1]);
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
    }
    ::_exit(1);
  }
  const DistGraph first(Initialize(Remote(*served_, 32 * kMiB)));
  const Tensor expected = first.ndata("wide").Read(ids);
  char ready = 0;
  ::close(ends[1]);
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  ASSERT_EQ(::read(ends[0], &ready, 1), 1) << "the second trainer has read something else";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int end : {go[0], go[1], ends[0]}) ::close(end);
  const uint64_t before = first.traffic().row_bytes;
  const DistGraph plain(Initialize(Remote(*served_, 0)));
  EXPECT_TRUE(SameBits(first.ndata("wide").Read(more), plain.ndata("wide").Read(more)));
  EXPECT_LT(first.traffic().row_bytes - before, 100U * 516);
  EXPECT_TRUE(SameBits(first.ndata("wide").Read(ids), expected));
}

TEST_F(CachedReads, NothingIsLeftWhenTheTrainersHaveEnded) {
  // Counts the files that list this process; other tests have theirs beside them.
  const auto files = [] {
    size_t count = 0;
    const std::string directory = CacheMembers::kDirectory;
    for (const std::string& name : ListDirectory(directory)) {
      if (!name.starts_with(StrCat("graphd-rows-", ::geteuid(), "-"))) continue;
      std::ifstream file(StrCat(directory, "/", name));  // it may have gone
      for (std::string line; std::getline(file, line);) {
        count += line.starts_with(StrCat(::getpid(), " ")) ? 1 : 0;
      }
    }
    return count;
  };
  EXPECT_EQ(files(), 0U);
  {
    const DistGraph graph(Initialize(Remote(*served_, 16 * kMiB)));
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(CachedReads, AForkedChildHasNoCache) {
  const DistGraph graph(Initialize(Remote(*served_, 16 * kMiB)));
  const std::vector<int64_t> ids{1, 2, 50000};
  static_cast<void>(graph.ndata("wide").Read(ids));
  ASSERT_GT(graph.row_cache_statistics().used_bytes, 0U);
  const pid_t child = ::fork();
  if (child == 0) {
    const RowCacheStatistics statistics = graph.row_cache_statistics();
    if (statistics.used_bytes != 0 || statistics.inserted != 3) ::_exit(1);
    try {
      static_cast<void>(graph.ndata("wide").Read(ids));
    } catch (const Error&) {
      ::_exit(0);  // the connection is the parent's
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CachedReads, MappedPartitionsNeedNoCache) {
  Options options = served_->TrainerOptions(Transport::kAuto);
  options.row_cache = 16 * kMiB;
  const DistGraph graph(Initialize(options));
  static_cast<void>(graph.ndata("wide").Read(std::vector<int64_t>{1, 2, 50000}));
  EXPECT_EQ(graph.ndata("wide").KeepCached(std::vector<int64_t>{1, 2, 50000}), 0);
  EXPECT_EQ(graph.row_cache_statistics().capacity_bytes, 0U);
  EXPECT_EQ(graph.row_cache_statistics().misses, 0U);
}

TEST_F(CachedReads, TheDaemonsLearnHowManyRowsWereCached) {
  Options options = Remote(*served_, 16 * kMiB);
  const DistGraph graph(Initialize(options));
  const auto counts = [&] {
    uint64_t found = 0, missed = 0;
    for (size_t daemon = 0; daemon < 2; daemon++) {
      RawClient client(served_->socket_path(daemon));
      auto request = client.daemon().statusRequest();
      WriteHello(request.initHello());
      const auto status = client.Wait(
          request.send().then([](auto&& response) { return ReadStatus(response.getStatus()); }));
      found += status.rows_cached;
      missed += status.rows_not_cached;
    }
    return std::pair(found, missed);
  };
  const auto [found, missed] = counts();
  const std::vector<int64_t> ids{1, 2, 3, 40000, 59999};
  static_cast<void>(graph.ndata("wide").Read(ids));
  static_cast<void>(graph.ndata("wide").Read(ids));
  static_cast<void>(graph.ndata("orig_id").Read(ids));  // tells of the second read
  EXPECT_EQ(counts(), std::pair(found + 5, missed + 10));
}

TEST(CachedFeatures, AllDtypesAndEncodingsAreBitIdentical) {
  const ServedGraphFixture served(ManyFeatures(), Daemons{{0, 1}}, 2, {},
                                  {"as_f16=float16", "as_bf16=bfloat16", "as_i8=int8"});
  const DistGraph plain(Initialize(Remote(served, 0)));
  const DistGraph cached(Initialize(Remote(served, 8 * kMiB)));
  for (const std::string& name : plain.ndata_names()) {
    for (uint64_t round = 0; round < 3; round++) {
      const std::vector<int64_t> ids = SomeIds(3000, 4000, round);
      ASSERT_TRUE(SameBits(cached.ndata(name).Read(ids), plain.ndata(name).Read(ids))) << name;
    }
  }
  for (const std::string& name : plain.edata_names()) {
    for (uint64_t round = 0; round < 2; round++) {
      const std::vector<int64_t> ids = SomeIds(3000, 40000, round);
      ASSERT_TRUE(SameBits(cached.edata(name).Read(ids), plain.edata(name).Read(ids))) << name;
    }
  }
  EXPECT_GT(cached.row_cache_statistics().hits, 10000U);
}

class SharedRequests : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SharedRequests, SurviveTheLossOfADaemon) {
  ServedGraphFixture served(ManyFeatures(), Daemons{{0}, {1}});
  std::vector<int64_t> all(4000);
  std::iota(all.begin(), all.end(), 0);
  const Tensor expected = DistGraph(Initialize(Remote(served, 0))).ndata("f32").Read(all);
  const size_t row_bytes = expected.num_bytes() / all.size();
  const DistGraph graph(Initialize(Remote(served, GetParam())));
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, reads{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      const DistTensor feature = graph.ndata("f32");
      for (uint64_t round = 0; !done; round++, reads++) {
        const std::vector<int64_t> ids = SomeIds(500, 4000, round * 4 + t);
        const Tensor rows = feature.Read(ids);
        for (size_t i = 0; i < ids.size(); i++) {
          const std::byte* row = expected.data() + static_cast<size_t>(ids[i]) * row_bytes;
          if (std::memcmp(rows.data() + i * row_bytes, row, row_bytes) != 0) wrong++;
        }
      }
    });
  }
  for (int kill = 0; kill < 3; kill++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    served.Kill(1);
    served.StartAgain(1);
    for (const int before = reads; reads < before + 20;) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Such a cache is so small that rows are requested again and again.
INSTANTIATE_TEST_SUITE_P(CachedFeatures, SharedRequests,
                         ::testing::Values(0, CacheShape::kLeastBytes));

TEST(CachedFeatures, TensorsAreNotCached) {
  const ServedGraphFixture served(ManyFeatures(), Daemons{{0, 1}});
  const DistGraph graph(Initialize(Remote(served, 8 * kMiB)));
  TensorSpec spec;
  spec.name = "changing";
  spec.policy = TensorPolicy::kNode;
  spec.dtype = DType::kFloat32;
  spec.row_shape = {4};
  const DistTensor tensor = DistTensor::Create(graph, spec);
  const std::vector<int64_t> ids{1, 2, 3};
  for (float value : {1.0F, 2.0F}) {
    Tensor rows = Tensor::Empty(DType::kFloat32, {3, 4});
    for (float& each : rows.as<float>()) each = value;
    tensor.Write(ids, rows);
    EXPECT_TRUE(SameBits(tensor.Read(ids), rows));
  }
  ExpectError([&] { tensor.KeepCached(ids); }, ErrorCode::kInvalid,
              "tensor 'changing' can change, and so its rows are not cached");
  EXPECT_EQ(graph.row_cache_statistics().misses, 0U);
}

TEST(CachedFeatures, RowsOfFilesThatWereReplacedAreNotRead) {
  ServedGraphFixture served(ManyFeatures(), Daemons{{0, 1}});
  const DistGraph graph(Initialize(Remote(served, 8 * kMiB)));
  const std::vector<int64_t> ids = SomeIds(1000, 4000, 1);
  const Tensor before = graph.ndata("f32").Read(ids);
  // A restart alone leaves the rows valid.
  served.Restart(0);
  EXPECT_TRUE(SameBits(graph.ndata("f32").Read(ids), before));
  EXPECT_GT(graph.row_cache_statistics().hits, 950U);
  // The files are copied over themselves with other times, as by a new partitioning.
  served.Kill(0);
  for (const std::string& file : ListFilesBelow(DirName(served.part_config()))) {
    const timespec times[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  served.StartAgain(0);
  // An attached process does not mix rows of both: it is told to start again.
  std::string said;
  for (int i = 0; i < 1000 && said.empty(); i++) {
    try {
      // The connection is found broken by the next call that needs one.
      static_cast<void>(graph.ndata("f64").Read(SomeIds(10, 4000, 100 + static_cast<uint64_t>(i))));
    } catch (const Error& error) {
      said = error.what();
    }
  }
  EXPECT_THAT(said, ::testing::HasSubstr("the files of its graph have changed"));
  // A process that comes now uses other memory than those of the old files.
  const DistGraph later(Initialize(Remote(served, 8 * kMiB)));
  static_cast<void>(later.ndata("f32").Read(ids));
  EXPECT_EQ(later.row_cache_statistics().hits, 0U);
}

TEST(CachedFeatures, RowsOfFilesThatChangeWhileTheyAreLoadedAreNotCached) {
  ServedGraphFixture served(ManyFeatures(), Daemons{{0, 1}});
  const std::vector<std::string> files = ListFilesBelow(DirName(served.part_config()));
  const std::vector<int64_t> ids = SomeIds(100, 4000, 1);
  // Loading takes so little time that the files may happen to stay the same meanwhile.
  bool is_cached = true;
  for (int attempt = 0; is_cached && attempt < 50; attempt++) {
    served.Kill(0);
    std::atomic<bool> is_loaded{false};
    std::thread changing([&] {
      for (time_t second = 1 + attempt * 1'000'000; !is_loaded; second++) {
        const timespec times[2] = {{second, 0}, {second, 0}};
        for (const std::string& file : files) ::utimensat(AT_FDCWD, file.c_str(), times, 0);
      }
    });
    served.StartAgain(0);
    const DistGraph plain(Initialize(Remote(served, 0)));  // waits until the daemon is ready
    is_loaded = true;
    changing.join();
    const DistGraph graph(Initialize(Remote(served, 8 * kMiB)));
    EXPECT_TRUE(SameBits(graph.ndata("f32").Read(ids), plain.ndata("f32").Read(ids)));
    is_cached = graph.row_cache_statistics().capacity_bytes != 0;
  }
  EXPECT_FALSE(is_cached);
  // A daemon that loads them again, once they stay as they are, lets clients keep rows.
  served.Kill(0);
  served.StartAgain(0);
  const DistGraph later(Initialize(Remote(served, 8 * kMiB)));
  static_cast<void>(later.ndata("f32").Read(ids));
  EXPECT_GT(later.row_cache_statistics().inserted, 0U);
}

TEST(RowCacheOption, BytesAreParsed) {
  EXPECT_EQ(ParseBytes("0", "x"), 0U);
  EXPECT_EQ(ParseBytes("4096", "x"), 4096U);
  EXPECT_EQ(ParseBytes("500M", "x"), 500 * kMiB);
  EXPECT_EQ(ParseBytes("2g", "x"), 2048 * kMiB);
  EXPECT_EQ(ParseBytes("2 GiB", "x"), 2048 * kMiB);
  EXPECT_EQ(ParseBytes("1.5GB", "x"), 1536 * kMiB);
  EXPECT_EQ(ParseBytes("1T", "x"), 1024 * 1024 * kMiB);
  for (const char* text :
       {"", "G", "-1", "2X", "2GG", "2iB", "nan", "1e3", "inf", "99999999T", "2G 3", "0x10"}) {
    ExpectError([&] { ParseBytes(text, "GRAPHD_ROW_CACHE"); }, ErrorCode::kInvalid,
                StrCat("GRAPHD_ROW_CACHE '", text, "': give a number of bytes"));
  }
}

}  // namespace
}  // namespace graphd::testing
