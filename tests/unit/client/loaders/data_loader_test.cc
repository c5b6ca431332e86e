// SPDX-License-Identifier: Apache-2.0
#include "graphd/data_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <numeric>
#include <set>

#include "base/clock.h"
#include "format/partitioner.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/support/slowness.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

Ids FirstNodes(int64_t n) {
  Ids ids(static_cast<size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Runs f, which must throw Error, and returns the error.
template <class F>
Error ErrorOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "");
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
  Ids seen;
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

TEST_P(DataLoader, AbandonedEpochsLeaveNothingBehind) {
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

TEST_P(DataLoader, InOrderOfCompletionEveryBatchComesOnceAndIsTheSame) {
  const auto batches = [&](bool ordered) {
    auto loader = Make(1000, {.batch_size = 30, .shuffle = true, .ordered = ordered});
    std::map<int64_t, NodeBatch> by_index;
    for (loader.StartEpoch(7); auto batch = loader.Next();) {
      const int64_t index = batch->index;
      EXPECT_TRUE(by_index.emplace(index, std::move(*batch)).second);
    }
    return by_index;
  };
  const auto expected = batches(true), found = batches(false);
  ASSERT_EQ(expected.size(), 34u);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [index, batch] : expected) {
    EXPECT_EQ(found.at(index).seeds, batch.seeds);
    EXPECT_EQ(found.at(index).input_nodes(), batch.input_nodes());
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, DataLoader, ::testing::Values(0, 1, 4));

// A graph of authors and papers in two partitions.
class TypedDataLoader : public ::testing::Test {
 protected:
  static constexpr int64_t kAuthors = 300, kPapers = 700;
  static constexpr NodeTypeId kAuthor = 0, kPaper = 1;
  static constexpr EdgeTypeId kWrites = 1, kCites = 2;
  TypedDataLoader() {
    PartitionOptions options;
    options.graph_name = "typed";
    options.num_parts = 2;
    options.method = PartMethod::kRandom;
    options.output = scratch_ / "data";
    Options session;
    session.part_config = PartitionGraph(TypedGraph(kAuthors, kPapers, 3), options).part_config;
    graph_ = std::make_unique<DistGraph>(Initialize(session));
  }
  static void ExpectRows(const Tensor& rows, const DistTensor& of, std::span<const int64_t> ids) {
    ASSERT_EQ(rows.num_rows(), static_cast<int64_t>(ids.size()));
    const Tensor expected = of.Read(ids);
    ASSERT_EQ(rows.dtype(), expected.dtype());
    ASSERT_EQ(rows.num_bytes(), expected.num_bytes());
    EXPECT_EQ(std::memcmp(rows.data(), expected.data(), expected.num_bytes()), 0);
  }
  ScratchDirectory scratch_;
  std::unique_ptr<DistGraph> graph_;
};

TEST_F(TypedDataLoader, MixesTypesInProportionWhenItShuffles) {
  DistNodeDataLoader loader(*graph_, std::vector<Ids>{FirstNodes(kAuthors), FirstNodes(kPapers)},
                            NeighborSampler({2}), {.batch_size = 100, .shuffle = true});
  EXPECT_EQ(loader.num_batches(), 10);
  std::vector<std::set<int64_t>> seen(2);
  for (loader.StartEpoch(0); auto batch = loader.Next();) {
    EXPECT_EQ(batch->seeds[kAuthor].size() + batch->seeds[kPaper].size(), 100u);
    // The expected number is 30, with a standard deviation of 4.4.
    EXPECT_NEAR(static_cast<double>(batch->seeds[kAuthor].size()), 30, 22);
    for (size_t t = 0; t < 2; t++) seen[t].insert(batch->seeds[t].begin(), batch->seeds[t].end());
  }
  EXPECT_EQ(seen[kAuthor].size(), static_cast<size_t>(kAuthors));
  EXPECT_EQ(seen[kPaper].size(), static_cast<size_t>(kPapers));
}

TEST_F(TypedDataLoader, WithoutShuffleTakesOneTypeAfterTheOther) {
  DistNodeDataLoader loader(*graph_, std::vector<Ids>{{5, 3, 4}, {9, 8}}, NeighborSampler({2}),
                            {.batch_size = 2});
  loader.StartEpoch(0);
  EXPECT_EQ(loader.Next()->seeds, (std::vector<Ids>{{5, 3}, {}}));
  EXPECT_EQ(loader.Next()->seeds, (std::vector<Ids>{{4}, {9}}));
  EXPECT_EQ(loader.Next()->seeds, (std::vector<Ids>{{}, {8}}));
  EXPECT_FALSE(loader.Next());
}

TEST_F(TypedDataLoader, FetchesFeaturesPerTypeOfInputsSeedsAndEdges) {
  const DistGraph& g = *graph_;
  DistNodeDataLoader loader(g, std::vector<Ids>{FirstNodes(40), FirstNodes(40)},
                            NeighborSampler({4, 3}, false, /*edge_ids=*/true),
                            {.batch_size = 25,
                             .shuffle = true,
                             .num_workers = 2,
                             .input_features = {{kPaper, "feat"}, {kAuthor, "feat"}, "label"},
                             .seed_features = {{kPaper, "label"}, "label"},
                             .edge_features = {{kCites, "weight"}, {kWrites, "weight"}},
                             .ntype = kAuthor});
  int batches = 0;
  for (loader.StartEpoch(0); auto batch = loader.Next(); batches++) {
    ASSERT_EQ(batch->input_features.size(), 3u);
    ExpectRows(batch->input_features[0], g.ndata("feat", kPaper), batch->input_nodes(kPaper));
    ExpectRows(batch->input_features[1], g.ndata("feat", kAuthor), batch->input_nodes(kAuthor));
    ExpectRows(batch->input_features[2], g.ndata("label", kAuthor), batch->input_nodes(kAuthor));
    ASSERT_EQ(batch->seed_features.size(), 2u);
    ExpectRows(batch->seed_features[0], g.ndata("label", kPaper), batch->seeds[kPaper]);
    ExpectRows(batch->seed_features[1], g.ndata("label", kAuthor), batch->seeds[kAuthor]);
    ASSERT_EQ(batch->edge_features.size(), batch->blocks.size());
    for (size_t l = 0; l < batch->blocks.size(); l++) {
      const auto& edges = batch->blocks[l].edges;
      EXPECT_GT(edges[kCites].edge_ids.size(), 0u);
      ExpectRows(batch->edge_features[l][0], g.edata("weight", kCites), edges[kCites].edge_ids);
      ExpectRows(batch->edge_features[l][1], g.edata("weight", kWrites), edges[kWrites].edge_ids);
    }
  }
  EXPECT_EQ(batches, 4);
}

TEST_F(TypedDataLoader, RejectsUnknownFeaturesAndIdsAtOnce) {
  const auto make = [&](std::vector<Ids> nids, LoaderOptions options) {
    return ErrorOf([&] { DistNodeDataLoader(*graph_, nids, NeighborSampler({2}), options); });
  };
  Error error = make({{1}, {2}}, {.input_features = {{kPaper, "colour"}}});
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error.what(), HasSubstr("feat, label"));
  EXPECT_EQ(make({{1}, {2}}, {.seed_features = {"colour"}}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(make({{1}, {2}}, {.edge_features = {{kWrites, "colour"}}}).code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(make({{1}, {2}}, {.input_features = {{7, "feat"}}}).code(), ErrorCode::kInvalid);
  EXPECT_EQ(make({{1}, {2}}, {.edge_features = {{-3, "weight"}}}).code(), ErrorCode::kInvalid);
  EXPECT_THAT(make({{1}}, {}).what(), HasSubstr("nodes of 1 types, the graph has 2"));
  EXPECT_THAT(make({{1}, {kPapers}}, {}).what(), HasSubstr("node 700 of type 'paper'"));
  EXPECT_THAT(make({{-1}, {}}, {}).what(), HasSubstr("node -1 of type 'author'"));
  EXPECT_EQ(ErrorOf([&] {
              DistNodeDataLoader(*graph_, Ids{1}, NeighborSampler({2}), {.ntype = 2});
            }).code(),
            ErrorCode::kInvalid);
}

TEST_F(TypedDataLoader, ReportsThatEdgeFeaturesNeedEdgeIds) {
  DistNodeDataLoader loader(*graph_, FirstNodes(50), NeighborSampler({2}),
                            {.edge_features = {{kCites, "weight"}}, .ntype = kPaper});
  loader.StartEpoch(0);
  EXPECT_THAT(ErrorOf([&] { loader.Next(); }).what(), HasSubstr("edge_ids = true"));
}

TEST(DataLoaderErrors, InvalidArgumentsAreReported) {
  ServedGraphFixture files({});
  DistGraph graph(Initialize(files.StandaloneOptions()));
  const auto make = [&](Ids nids, LoaderOptions options) {
    DistNodeDataLoader(graph, nids, NeighborSampler({2}), options);
  };
  EXPECT_THROW(make({1}, {.batch_size = 0}), Error);
  EXPECT_THROW(make({60000}, {}), Error);
  EXPECT_THROW(make({-1}, {}), Error);
  EXPECT_THROW(NeighborSampler({-2}), Error);
  EXPECT_THROW(make({1}, {.input_features = {"nothing"}}), Error);
  EXPECT_THROW(AnySampler(std::shared_ptr<NeighborSampler>()), Error);
  EXPECT_THROW(DistGraph(std::shared_ptr<Session>()), Error);
  DistNodeDataLoader loader(graph, Ids{1}, NeighborSampler({2}));
  EXPECT_THROW(loader.Next(), Error);  // no epoch has been started
}

TEST(DataLoaderLife, ALoaderKeepsItsGraphAlive) {
  ServedGraphFixture served({{0, 1}});
  std::optional<DistNodeDataLoader> loader;
  {
    auto session = Initialize(served.TrainerOptions(Transport::kTcp));
    const DistGraph graph(session);
    loader.emplace(graph, FirstNodes(100), NeighborSampler({2}),
                   LoaderOptions{.batch_size = 10, .num_workers = 2, .input_features = {"wide"}});
  }
  loader->StartEpoch(0);
  int batches = 0;
  while (auto batch = loader->Next()) batches++;
  EXPECT_EQ(batches, 10);
}

TEST(DataLoaderErrors, ErrorsOfWorkersReachTheTrainer) {
  ServedGraphFixture served({{0, 1}});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::seconds(4);
  DistGraph graph(Initialize(options));
  DistNodeDataLoader loader(graph, FirstNodes(100), NeighborSampler({2}),
                            {.batch_size = 10, .num_workers = 2});
  loader.StartEpoch(0);
  ASSERT_TRUE(loader.Next());
  served.daemon(0).Signal(SIGKILL);
  served.daemon(0).Wait();
  const Error error = ErrorOf([&] {
    while (loader.Next()) {
    }
  });
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(error.what(), HasSubstr("127.0.0.1:"));  // the address of the daemon
}

TEST(DataLoaderErrors, ALoaderIsDestroyedWhileItsWorkersWaitForASilentDaemon) {
  ServedGraphFixture served({{0, 1}});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::seconds(4);
  DistGraph graph(Initialize(options));
  std::optional<DistNodeDataLoader> loader;
  loader.emplace(graph, FirstNodes(1000), NeighborSampler({2}),
                 LoaderOptions{.batch_size = 10,
                               .num_workers = 3,
                               .input_features = {"wide", "wide", "wide", "wide", "wide", "wide"},
                               .seed_features = {"label"}});
  loader->StartEpoch(0);
  ASSERT_TRUE(loader->Next());
  served.daemon(0).Signal(SIGSTOP);
  const Error error = ErrorOf([&] {
    while (loader->Next()) {
    }
  });
  EXPECT_EQ(error.code(), ErrorCode::kDeadline);
  const auto start = Clock::now();
  loader.reset();
  EXPECT_LT(SecondsSince(start), 9);  // about one timeout, not one per worker
  served.daemon(0).Signal(SIGCONT);
}

TEST(DataLoaderErrors, WorkersWaitConcurrentlyForALostDaemon) {
  ServedGraphFixture served({{0, 1}});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::seconds(4);
  DistGraph graph(Initialize(options));
  std::optional<DistNodeDataLoader> loader;
  loader.emplace(graph, FirstNodes(10000), NeighborSampler({2}),
                 LoaderOptions{.batch_size = 10, .num_workers = 16});
  loader->StartEpoch(0);
  ASSERT_TRUE(loader->Next());
  served.daemon(0).Signal(SIGKILL);
  served.daemon(0).Wait();
  ErrorOf([&] {
    while (loader->Next()) {
    }
  });
  const auto start = Clock::now();
  loader.reset();
  EXPECT_LT(SecondsSince(start), 15);  // about one timeout, not one per worker
}

}  // namespace
}  // namespace graphd::testing
