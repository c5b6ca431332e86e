// SPDX-License-Identifier: Apache-2.0
// Tests splitting by features of graphs: in-process, served by daemons, and from files written by
// DGL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "format/partitioner.h"
#include "graphd/node_split.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/split_masks.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

// A graph of 90 nodes in 3 partitions, with the features "trainer_id", "mask" and others, and edges
// with "mask".
class GraphSplit : public ::testing::Test {
 protected:
  static constexpr int64_t kNodes = 90, kEdges = 400;
  GraphSplit() {
    RawGraph graph = HomogeneousGraph(kNodes, RandomMultigraph(kNodes, kEdges, 4));
    RawFeature trainer{"trainer_id", Tensor::Empty(DType::kInt64, {kNodes})};
    RawFeature bad{"bad_trainer", Tensor::Empty(DType::kInt32, {kNodes})};
    for (size_t i = 0; i < kNodes; i++) {
      trainer.values.as<int64_t>()[i] = static_cast<int64_t>(i * i % 13 % 6);
      bad.values.as<int32_t>()[i] = i == 50 ? -1 : 0;
    }
    graph.nodes[0].features.push_back({"mask", Mask(kNodes, [](size_t i) { return i % 4 != 0; })});
    graph.nodes[0].features.push_back(std::move(trainer));
    graph.nodes[0].features.push_back(std::move(bad));
    const auto edges = static_cast<size_t>(graph.edges[0].stored());
    graph.edges[0].features.push_back({"mask", Mask(edges, [](size_t i) { return i % 7 == 0; })});
    PartitionOptions options;
    options.graph_name = "split";
    options.num_parts = 3;
    options.method = PartMethod::kRandom;
    options.output = scratch_ / "data";
    part_config_ = PartitionGraph(graph, options).part_config;
  }
  DistGraph Trainer(int rank, int world) const {
    Options options;
    options.part_config = part_config_;
    options.rank = rank;
    options.world_size = world;
    return DistGraph(Initialize(options));
  }
  ScratchDirectory scratch_;
  std::string part_config_;
};

TEST_F(GraphSplit, EveryTrainerOfASessionGetsItsShare) {
  for (int world : {1, 2, 3, 6, 7}) {
    for (bool force_even : {true, false}) {
      Ids nodes, edges;
      for (int rank = 0; rank < world; rank++) {
        const DistGraph graph = Trainer(rank, world);
        const SplitOptions options{.force_even = force_even};
        const Ids mine = NodeSplit(graph, graph.ndata("mask"), options);
        const Ids my_edges = EdgeSplit(graph, graph.edata("mask"), options);
        nodes.insert(nodes.end(), mine.begin(), mine.end());
        edges.insert(edges.end(), my_edges.begin(), my_edges.end());
        // A mask in memory gives the same result, also for another rank.
        const Tensor node_mask = graph.ndata("mask").Slice(0, graph.num_nodes());
        const Tensor edge_mask = graph.edata("mask").Slice(0, graph.num_edges());
        EXPECT_EQ(NodeSplit(graph, node_mask, 0, options), mine);
        EXPECT_EQ(EdgeSplit(graph, edge_mask, 0, options), my_edges);
        EXPECT_EQ(EdgeSplit(graph.partition_book(), edge_mask, 0,
                            {.rank = rank, .world_size = world, .force_even = force_even}),
                  my_edges);
        EXPECT_EQ(NodeSplit(Trainer(0, world), graph.ndata("mask"),
                            {.rank = rank, .force_even = force_even}),
                  mine);
      }
      const DistGraph graph = Trainer(0, 1);
      EXPECT_EQ(nodes, SetIn(graph.ndata("mask").Slice(0, graph.num_nodes())));
      EXPECT_EQ(edges, SetIn(graph.edata("mask").Slice(0, graph.num_edges())));
    }
  }
}

TEST_F(GraphSplit, TrainerIdsDecideWithinAPartition) {
  const DistGraph graph = Trainer(0, 1);
  const Tensor all_ids = graph.ndata("trainer_id").Slice(0, graph.num_nodes());
  const auto ids = all_ids.as<int64_t>();
  const IdMap& map = graph.partition_book().nodes();
  for (bool force_even : {true, false}) {
    for (int world : {1, 2, 3, 4, 6, 9}) {  // with 6 trainer ids: divisors, multiples and others
      std::vector<Ids> pieces;
      for (int rank = 0; rank < world; rank++) {
        pieces.push_back(NodeSplit(graph, graph.ndata("mask"),
                                   {.rank = rank,
                                    .world_size = world,
                                    .force_even = force_even,
                                    .trainer_ids = "trainer_id"}));
        EXPECT_TRUE(std::is_sorted(pieces.back().begin(), pieces.back().end()));
      }
      EXPECT_LE(force_even ? Spread(pieces) : 0, 1u);
      // In order of trainers, (partition, trainer id) never decreases.
      std::pair<PartId, int64_t> before{0, 0};
      Ids all;
      for (const Ids& piece : pieces) {
        auto first = std::pair<PartId, int64_t>{3, 0}, last = before;
        for (int64_t id : piece) {
          const std::pair key{map.Owner(0, id), ids[static_cast<size_t>(id)]};
          first = std::min(first, key);
          last = std::max(last, key);
        }
        EXPECT_GE(first, before);
        before = last;
        all.insert(all.end(), piece.begin(), piece.end());
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, SetIn(graph.ndata("mask").Slice(0, graph.num_nodes())));
    }
  }
}

TEST_F(GraphSplit, RejectsInvalidMasksAndTrainerIds) {
  const DistGraph graph = Trainer(0, 1);
  const auto refused = [&](const DistTensor& mask, const SplitOptions& options) {
    try {
      NodeSplit(graph, mask, options);
      ADD_FAILURE();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(graph.ndata("label"), {}), HasSubstr("'label' holds int64"));
  EXPECT_THAT(refused(graph.edata("mask"), {}), HasSubstr("use EdgeSplit"));
  EXPECT_THROW(EdgeSplit(graph, graph.ndata("mask")), Error);
  EXPECT_THAT(refused(graph.ndata("mask"), {.rank = 1}), HasSubstr("rank 1 of 1"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.rank = -2}), HasSubstr("rank -2 of 1"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.world_size = -2}), HasSubstr("rank 0 of -2"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.trainer_ids = "nobody"}), HasSubstr("'nobody'"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.trainer_ids = "feat"}), HasSubstr("float32"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.trainer_ids = "bad_trainer"}),
              HasSubstr("trainer id -1"));
}

TEST(NodeSplitServed, WithoutForceEvenOtherPartitionsAreNotRead) {
  ServedGraphFixture served(std::vector<std::vector<int>>{{0}, {1}});
  for (Transport transport : {Transport::kAuto, Transport::kTcp}) {
    Options options = served.TrainerOptions(transport, 1, 2);
    options.timeout = std::chrono::seconds(4);
    const DistGraph graph(Initialize(options));
    const DistTensor mask = graph.ndata("train_mask");
    const Ids mine = NodeSplit(graph, mask, {.force_even = false});
    EXPECT_GT(mine.size(), 0u);
    for (int64_t id : mine) EXPECT_EQ(graph.partition_book().nodes().Owner(0, id), 1);
  }
  Options options = served.TrainerOptions(Transport::kTcp, 1, 2);
  options.timeout = std::chrono::seconds(4);
  const DistGraph graph(Initialize(options));
  const DistTensor mask = graph.ndata("train_mask");
  served.daemon(0).Signal(SIGKILL);
  served.daemon(0).Wait();
  EXPECT_GT(NodeSplit(graph, mask, {.force_even = false}).size(), 0u);
  EXPECT_THROW(NodeSplit(graph, mask), Error);  // force_even reads the whole mask
}

// Files that were written by DGL.
struct DglFiles {
  explicit DglFiles(const std::string& name) {
    test::CopyUnpacked(test::SourceFixtureRoot() + "/" + name, folder / name);
    options.part_config = folder / (name + "/sbm.json");
  }
  test::TempFolder folder;
  Options options;
};

TEST(NodeSplitDgl, TrainersGetTheNodesThatDglAssignedToThem) {
  const DglFiles files("sbm_2p_trainers2");
  const DistGraph graph(Initialize(files.options));
  const Tensor trainers = graph.ndata("trainer_id").Slice(0, graph.num_nodes());
  for (int world : {2, 4}) {
    for (bool force_even : {true, false}) {
      int64_t own = 0, all = 0;
      for (int rank = 0; rank < world; rank++) {
        const Ids mine = NodeSplit(graph, graph.ndata("train_mask"),
                                   {.rank = rank,
                                    .world_size = world,
                                    .force_even = force_even,
                                    .trainer_ids = "trainer_id"});
        all += static_cast<int64_t>(mine.size());
        for (int64_t id : mine) {
          own += trainers.as<int64_t>()[static_cast<size_t>(id)] * world / 4 == rank;
        }
      }
      const Tensor mask = graph.ndata("train_mask").Slice(0, graph.num_nodes());
      EXPECT_EQ(all, static_cast<int64_t>(SetIn(mask).size()));
      // The trainer gets nearly all of its nodes. Some go to other trainers, so that all get
      // equally many.
      EXPECT_GT(own, all * 9 / 10) << world << " " << force_even;
    }
  }
}

TEST(NodeSplitDgl, MappedBooksAreSplitByOwner) {
  const DglFiles files("legacy091_noreshuffle_2p");
  const DistGraph graph(Initialize(files.options));
  ASSERT_FALSE(graph.partition_book().nodes().is_range());
  const DistTensor mask = graph.ndata("train_mask");
  const Tensor values = mask.Slice(0, mask.num_rows());
  for (int world : {1, 2, 3, 4}) {
    for (bool force_even : {true, false}) {
      Ids all;
      for (int rank = 0; rank < world; rank++) {
        const SplitOptions options{.rank = rank, .world_size = world, .force_even = force_even};
        const Ids mine = NodeSplit(graph, mask, options);
        EXPECT_EQ(NodeSplit(graph, values, 0, options), mine);
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        all.insert(all.end(), mine.begin(), mine.end());
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, SetIn(values));
    }
  }
}

}  // namespace
}  // namespace graphd::testing
