// SPDX-License-Identifier: Apache-2.0
#include "graphd/data_loader.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

std::vector<int64_t> FirstNodes(int64_t n) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < n; i++) ids.push_back(i);
  return ids;
}

class DataLoader : public ::testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    files_ = std::make_unique<ServedGraphFixture>(std::vector<std::vector<int>>{});
    graph_ = std::make_unique<DistGraph>(Initialize(files_->StandaloneOptions()));
  }
  static void TearDownTestSuite() {
    graph_.reset();
    files_.reset();
  }
  DistNodeDataLoader Make(int64_t nodes, LoaderOptions options) {
    options.num_workers = GetParam();
    return DistNodeDataLoader(*graph_, FirstNodes(nodes), NeighborSampler({3, 3}), options);
  }
  static std::unique_ptr<ServedGraphFixture> files_;
  static std::unique_ptr<DistGraph> graph_;
};

std::unique_ptr<ServedGraphFixture> DataLoader::files_;
std::unique_ptr<DistGraph> DataLoader::graph_;

TEST_P(DataLoader, DeliversEveryNodeOnceInOrder) {
  auto loader = Make(1050, {.batch_size = 100, .seed_features = {"label"}});
  EXPECT_EQ(loader.num_batches(), 11);
  std::vector<int64_t> seen;
  for (loader.StartEpoch(0); auto batch = loader.Next();) {
    EXPECT_EQ(batch->seed_features[0].num_rows(), static_cast<int64_t>(batch->seeds[0].size()));
    seen.insert(seen.end(), batch->seeds[0].begin(), batch->seeds[0].end());
  }
  EXPECT_EQ(seen, FirstNodes(1050));
  EXPECT_FALSE(loader.Next());
}

TEST_P(DataLoader, ShufflesAndDropsAnIncompleteLastBatch) {
  auto loader = Make(1050, {.batch_size = 100, .shuffle = true, .drop_last = true});
  EXPECT_EQ(loader.num_batches(), 10);
  std::set<int64_t> seen;
  for (loader.StartEpoch(0); auto batch = loader.Next();) {
    seen.insert(batch->seeds[0].begin(), batch->seeds[0].end());
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST_P(DataLoader, AnEpochThatIsLeftInTheMiddleLeavesNothingBehind) {
  auto loader = Make(1000, {.batch_size = 10});
  for (int64_t epoch = 0; epoch < 20; epoch++) {
    loader.StartEpoch(epoch);
    for (int i = 0; i < 3; i++) {
      EXPECT_EQ(loader.Next()->seeds[0][0], i * 10);
    }
  }
}

TEST_P(DataLoader, CanBeDestroyedInTheMiddleOfAnEpoch) {
  for (int i = 0; i < 20; i++) {
    auto loader = Make(1000, {.batch_size = 10, .input_features = {"wide"}});
    loader.StartEpoch(0);
    loader.Next();
  }
}

TEST_P(DataLoader, NoNodesGiveNoBatches) {
  auto loader = Make(0, {.batch_size = 10});
  loader.StartEpoch(0);
  EXPECT_FALSE(loader.Next());
}

INSTANTIATE_TEST_SUITE_P(Workers, DataLoader, ::testing::Values(0, 1, 4));

TEST(DataLoaderErrors, AreTold) {
  ServedGraphFixture files({});
  DistGraph graph(Initialize(files.StandaloneOptions()));
  EXPECT_THROW(DistNodeDataLoader(graph, {1}, NeighborSampler({2}), {.batch_size = 0}), Error);
  EXPECT_THROW(DistNodeDataLoader(graph, {60000}, NeighborSampler({2}), {}), Error);
  EXPECT_THROW(DistNodeDataLoader(graph, {-1}, NeighborSampler({2}), {}), Error);
  EXPECT_THROW(NeighborSampler({-2}), Error);
  EXPECT_THROW(
      DistNodeDataLoader(graph, {1}, NeighborSampler({2}), {.input_features = {"nothing"}}), Error);
}

TEST(DataLoaderErrors, OfAWorkerReachTheTrainer) {
  ServedGraphFixture served({{0, 1}});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::milliseconds(300);
  DistGraph graph(Initialize(options));
  DistNodeDataLoader loader(graph, FirstNodes(100), NeighborSampler({2}),
                            {.batch_size = 10, .num_workers = 2});
  loader.StartEpoch(0);
  ASSERT_TRUE(loader.Next());
  served.daemon(0).Signal(SIGKILL);
  served.daemon(0).Wait();
  EXPECT_THROW(
      {
        while (loader.Next()) {
        }
      },
      Error);
}

}  // namespace
}  // namespace graphd::testing
