// SPDX-License-Identifier: Apache-2.0
// Compares the same graph in standalone mode, through mapped memory, over the Unix socket and over
// TCP.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

#ifdef __SANITIZE_THREAD__  // everything takes twenty times as long
constexpr size_t kLarge = 20000, kLoaded = 500;
#else
constexpr size_t kLarge = 330000, kLoaded = 2000;
#endif
constexpr Transport kAll[] = {Transport::kAuto, Transport::kUnix, Transport::kTcp};

class ThreeWays : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    served_ = std::make_unique<ServedGraphFixture>(Daemons{{0}, {1}});
  }
  static void TearDownTestSuite() { served_.reset(); }
  using Daemons = std::vector<std::vector<int>>;

  static DistGraph Standalone() { return DistGraph(Initialize(served_->StandaloneOptions())); }
  static DistGraph Connected(Transport transport) {
    return DistGraph(Initialize(served_->TrainerOptions(transport)), "hubs");
  }
  static std::vector<int64_t> SomeNodes(size_t n, uint64_t seed) {
    CounterRng random(seed);
    std::vector<int64_t> ids(n);
    for (auto& id : ids) id = static_cast<int64_t>(random.Below(ServedGraphFixture::kNodes));
    return ids;
  }
  static std::unique_ptr<ServedGraphFixture> served_;
};

std::unique_ptr<ServedGraphFixture> ThreeWays::served_;

void ExpectSame(const MiniBatch& a, const MiniBatch& b) {
  ASSERT_EQ(a.seeds, b.seeds);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (size_t l = 0; l < a.blocks.size(); l++) {
    ASSERT_EQ(a.blocks[l].src_nodes, b.blocks[l].src_nodes);
    ASSERT_EQ(a.blocks[l].num_dst, b.blocks[l].num_dst);
    for (size_t e = 0; e < a.blocks[l].edges.size(); e++) {
      ASSERT_EQ(a.blocks[l].edges[e].indptr, b.blocks[l].edges[e].indptr);
      ASSERT_EQ(a.blocks[l].edges[e].indices, b.blocks[l].edges[e].indices);
      ASSERT_EQ(a.blocks[l].edges[e].edge_ids, b.blocks[l].edges[e].edge_ids);
    }
  }
  ASSERT_EQ(a.input_features.size(), b.input_features.size());
  for (size_t i = 0; i < a.input_features.size(); i++) {
    ASSERT_EQ(a.input_features[i].num_bytes(), b.input_features[i].num_bytes());
    ASSERT_EQ(memcmp(a.input_features[i].data(), b.input_features[i].data(),
                     a.input_features[i].num_bytes()),
              0);
  }
}

TEST_F(ThreeWays, MappedPartitionsAreMappedAndRemoteOnesAreNot) {
  EXPECT_TRUE(Connected(Transport::kAuto).is_mapped(0));
  EXPECT_TRUE(Connected(Transport::kAuto).is_mapped(1));
  EXPECT_FALSE(Connected(Transport::kTcp).is_mapped(0));
}

TEST_F(ThreeWays, TheGraphLooksTheSame) {
  const DistGraph alone = Standalone();
  for (Transport transport : kAll) {
    const DistGraph graph = Connected(transport);
    EXPECT_EQ(graph.num_nodes(), ServedGraphFixture::kNodes);
    EXPECT_EQ(graph.num_edges(), alone.num_edges());
    EXPECT_EQ(graph.ndata_names(), alone.ndata_names());
    EXPECT_EQ(graph.edata_names(), alone.edata_names());
    EXPECT_EQ(graph.ndata("wide").shape(), (std::vector<int64_t>{60000, 128}));
    EXPECT_EQ(graph.partition_book().num_partitions(), 2);
  }
}

TEST_F(ThreeWays, FeaturesAreThoseOfTheOriginalNodes) {
  const auto ids = SomeNodes(20000, 3);  // with duplicates, 10 MB: several slices and chunks
  for (Transport transport : kAll) {
    const DistGraph graph = Connected(transport);
    const Tensor orig = graph.ndata("orig_id").Read(ids);
    const Tensor wide = graph.ndata("wide").Read(ids);
    for (size_t i = 0; i < ids.size(); i++) {
      const auto original = static_cast<float>(orig.as<int64_t>()[i]);
      ASSERT_EQ(wide.as<float>()[i * 128], original);
      ASSERT_EQ(wide.as<float>()[i * 128 + 64], original + 0.5f);
    }
  }
}

TEST_F(ThreeWays, SlicesEqualReads) {
  for (Transport transport : kAll) {
    const DistTensor tensor = Connected(transport).ndata("orig_id");
    const Tensor slice = tensor.Slice(25000, 35000);  // rows of both partitions
    std::vector<int64_t> ids;
    for (int64_t i = 25000; i < 35000; i++) ids.push_back(i);
    const Tensor read = tensor.Read(ids);
    ASSERT_EQ(memcmp(slice.data(), read.data(), read.num_bytes()), 0);
    EXPECT_EQ(tensor.Slice(5, 5).num_bytes(), 0u);
  }
}

TEST_F(ThreeWays, TheSameSeedGivesTheSameBlocks) {
  const DistGraph alone = Standalone();
  for (bool replace : {false, true}) {
    const NeighborSampler sampler({5, kAllNeighbors, 10}, replace, /*edge_ids=*/true);
    const MiniBatch expected = sampler.Sample(alone, {SomeNodes(300, 5)}, 99);
    EXPECT_GT(expected.blocks[0].num_edges(), 1000);
    for (Transport transport : kAll) {
      ExpectSame(expected, sampler.Sample(Connected(transport), {SomeNodes(300, 5)}, 99));
    }
    const MiniBatch other = sampler.Sample(alone, {SomeNodes(300, 5)}, 100);
    EXPECT_NE(other.blocks[2].edges[0].edge_ids, expected.blocks[2].edges[0].edge_ids);
  }
}

TEST_F(ThreeWays, AHopIsOneMessagePerPartitionThatAlsoFetchesFeatures) {
  const DistGraph graph = Connected(Transport::kTcp);
  const NeighborSampler sampler({10, 25});
  BatchRequest request{{SomeNodes(300, 5)}, 1};
  request.input_features = {{0, "label"}, {0, "feat"}};
  request.seed_features = {{0, "train_mask"}};
  const TrafficCounts before = graph.traffic();
  const MiniBatch batch = sampler.Sample(graph, request);
  const TrafficCounts after = graph.traffic();
  // Each of the two partitions gets a message per hop, and one for the rows of the last hop's
  // nodes.
  EXPECT_LE(after.messages - before.messages, 2u * 3u);
  EXPECT_EQ(after.row_messages, before.row_messages);
  int64_t edges = 0;
  for (const Block& block : batch.blocks) edges += block.num_edges();
  const auto bytes = static_cast<double>(after.sampling_bytes - before.sampling_bytes);
  EXPECT_LE(bytes / static_cast<double>(edges), 6.0);
  const auto& nodes = batch.input_nodes();
  const Tensor label = graph.ndata("label").Read(nodes), feat = graph.ndata("feat").Read(nodes);
  ASSERT_EQ(batch.input_features.size(), 2u);
  ASSERT_EQ(batch.input_features[0].shape(), label.shape());
  EXPECT_EQ(memcmp(batch.input_features[0].data(), label.data(), label.num_bytes()), 0);
  EXPECT_EQ(memcmp(batch.input_features[1].data(), feat.data(), feat.num_bytes()), 0);
  const Tensor mask = graph.ndata("train_mask").Read(batch.seeds[0]);
  EXPECT_EQ(memcmp(batch.seed_features[0].data(), mask.data(), mask.num_bytes()), 0);
}

TEST_F(ThreeWays, EdgeIdsNameTheSampledEdges) {
  const DistGraph graph = Connected(Transport::kTcp);
  const DistGraph alone = Standalone();
  const auto seeds = SomeNodes(100, 8);
  const Neighbors all = SampleNeighbors(alone, seeds, {kAllNeighbors, false, 0, 0, true});
  const Neighbors some = SampleNeighbors(graph, seeds, {4, false, 7, 0, true});
  for (size_t i = 0; i < seeds.size(); i++) {
    std::multimap<int64_t, int64_t> edges;
    for (int64_t k = all.indptr[i]; k < all.indptr[i + 1]; k++) {
      edges.emplace(all.edge_ids[static_cast<size_t>(k)], all.neighbors[static_cast<size_t>(k)]);
    }
    EXPECT_EQ(some.indptr[i + 1] - some.indptr[i],
              std::min<int64_t>(4, all.indptr[i + 1] - all.indptr[i]));
    for (int64_t k = some.indptr[i]; k < some.indptr[i + 1]; k++) {
      auto found = edges.find(some.edge_ids[static_cast<size_t>(k)]);
      ASSERT_NE(found, edges.end()) << "is not an in-edge, or was sampled twice";
      EXPECT_EQ(found->second, some.neighbors[static_cast<size_t>(k)]);
      edges.erase(found);
    }
  }
}

TEST_F(ThreeWays, LoadersGiveTheSameBatchesForAnyNumberOfWorkers) {
  LoaderOptions options{.batch_size = 128,
                        .shuffle = true,
                        .seed = 4,
                        .num_workers = 0,
                        .input_features = {"wide"},
                        .seed_features = {"label"}};
  const auto nids = SomeNodes(kLoaded, 6);
  const auto epoch = [&](const DistGraph& graph, int workers, int64_t number) {
    options.num_workers = workers;
    DistNodeDataLoader loader(graph, nids, NeighborSampler({5, 5}), options);
    std::vector<MiniBatch> batches;
    for (loader.StartEpoch(number); auto batch = loader.Next();) {
      batches.push_back(std::move(*batch));
    }
    return batches;
  };
  const auto expected = epoch(Standalone(), 0, 1);
  ASSERT_EQ(expected.size(), (kLoaded + 127) / 128);
  EXPECT_NE(expected[0].seeds, epoch(Standalone(), 0, 2)[0].seeds);
  for (Transport transport : kAll) {
    for (int workers : {0, 1, 3}) {
      const auto batches = epoch(Connected(transport), workers, 1);
      ASSERT_EQ(batches.size(), expected.size());
      for (size_t i = 0; i < batches.size(); i++) {
        EXPECT_EQ(batches[i].index, static_cast<int64_t>(i));
        ExpectSame(expected[i], batches[i]);
      }
    }
  }
}

TEST_F(ThreeWays, LargeReadsAreSplitAndReassembled) {
  const DistGraph graph = Connected(Transport::kTcp);
  const std::vector<int64_t> ids = SomeNodes(kLarge, 2);  // 169 MB
  const Tensor wide = graph.ndata("wide").Read(ids);
  const Tensor orig = graph.ndata("orig_id").Read(ids);
  for (size_t i = 0; i < ids.size(); i += 97) {
    ASSERT_EQ(wide.as<float>()[i * 128], static_cast<float>(orig.as<int64_t>()[i]));
  }
}

TEST_F(ThreeWays, ManyThreadsReadCorrectRowsWhileBuffersAreReused) {
  // If a buffer were reused before its message is sent, the message would have wrong rows.
  const DistGraph graph = Connected(Transport::kTcp);
  const DistTensor wide = graph.ndata("wide"), orig = graph.ndata("orig_id");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; round < 10; round++) {
        const auto ids = SomeNodes(5000 + 1000 * t, 100 * t + round);
        const Tensor rows = wide.Read(ids), originals = orig.Read(ids);
        for (size_t i = 0; i < ids.size(); i++) {
          const float expected = static_cast<float>(originals.as<int64_t>()[i]);
          for (size_t c = 0; c < 128; c += 16) {
            wrong += rows.as<float>()[i * 128 + c] != expected + static_cast<float>(c) / 128.0f;
          }
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace graphd::testing
