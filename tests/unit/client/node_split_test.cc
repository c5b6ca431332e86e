// SPDX-License-Identifier: Apache-2.0
#include "graphd/node_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/rng.h"
#include "format/partitioner.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

Tensor Mask(size_t size, const std::function<bool(size_t)>& is_set, DType dtype = DType::kUInt8) {
  Tensor mask = Tensor::Empty(dtype, {static_cast<int64_t>(size)});
  for (size_t i = 0; i < size; i++) mask.data()[i] = std::byte{is_set(i) ? uint8_t{1} : uint8_t{0}};
  return mask;
}

Ids SetIn(const Tensor& mask) {
  Ids ids;
  for (int64_t i = 0; i < mask.num_rows(); i++) {
    if (mask.data()[i] != std::byte{0}) ids.push_back(i);
  }
  return ids;
}

// sizes[t][p]: what partition p owns of type t.
IdMap RangeMap(const std::vector<Ids>& sizes) {
  std::vector<std::vector<IdMap::Range>> ranges(sizes.size());
  int64_t at = 0;
  for (size_t p = 0; p < sizes[0].size(); p++) {
    for (size_t t = 0; t < sizes.size(); t++) {
      ranges[t].push_back({at, at + sizes[t][p]});
      at += sizes[t][p];
    }
  }
  return IdMap::FromRanges("node", ranges);
}

IdMap MappedMap(size_t size, PartId num_parts, CounterRng& random) {
  std::vector<int32_t> owner(size);
  for (int32_t& p : owner) p = static_cast<int32_t>(random.Below(static_cast<uint64_t>(num_parts)));
  return IdMap::FromOwners("node", owner, num_parts);
}

PartitionBook BookOf(IdMap nodes) {
  std::vector<Ids> no_edges(1, Ids(static_cast<size_t>(nodes.num_parts()), 0));
  return PartitionBook(std::move(nodes), RangeMap(no_edges));
}

// Which piece every trainer of a job gets, checked to hold each chosen one exactly once.
std::vector<Ids> SplitAmong(const PartitionBook& book, const Tensor& mask, int32_t type, int world,
                            bool force_even) {
  std::vector<Ids> pieces;
  Ids all;
  for (int rank = 0; rank < world; rank++) {
    pieces.push_back(
        NodeSplit(book, mask, type, {.rank = rank, .world_size = world, .force_even = force_even}));
    EXPECT_TRUE(std::is_sorted(pieces.back().begin(), pieces.back().end()));
    all.insert(all.end(), pieces.back().begin(), pieces.back().end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, SetIn(mask));
  return pieces;
}

// The difference between the largest and the smallest.
size_t Spread(const std::vector<Ids>& pieces) {
  const auto [least, most] = std::minmax_element(
      pieces.begin(), pieces.end(), [](const Ids& a, const Ids& b) { return a.size() < b.size(); });
  return most->size() - least->size();
}

// A random book of up to 6 partitions, some of them empty, and a random mask, some all or nothing.
struct RandomCase {
  explicit RandomCase(uint64_t seed) : random(seed) {
    const auto parts = static_cast<PartId>(1 + random.Below(6));
    Ids sizes(static_cast<size_t>(parts));
    size_t total = 0;
    for (int64_t& size : sizes) {
      size = random.Below(4) ? static_cast<int64_t>(random.Below(40)) : 0;
      total += static_cast<size_t>(size);
    }
    sizes[0] += total == 0;
    total = std::max(total, size_t{1});
    const bool mapped = seed % 3 == 0;
    book = BookOf(mapped ? MappedMap(total, parts, random) : RangeMap({sizes}));
    const uint64_t density = random.Below(11);
    mask = Mask(
        total, [&](size_t) { return random.Below(10) < density; },
        seed % 2 ? DType::kBool : DType::kUInt8);
    world = 1 + static_cast<int>(random.Below(10));
  }
  CounterRng random;
  PartitionBook book;
  Tensor mask;
  int world = 1;
};

TEST(NodeSplit, GivesEveryChosenNodeToExactlyOneTrainerEvenly) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    const RandomCase some(seed);
    const auto pieces = SplitAmong(some.book, some.mask, 0, some.world, true);
    EXPECT_LE(Spread(pieces), 1u) << seed;
    // In partition order: no trainer's last partition lies after the next one's first.
    PartId before = 0;
    for (const Ids& piece : pieces) {
      PartId first = some.book.num_partitions(), last = before;
      for (int64_t id : piece) {
        first = std::min(first, some.book.nodes().Owner(0, id));
        last = std::max(last, some.book.nodes().Owner(0, id));
      }
      EXPECT_GE(first, before) << seed;
      before = last;
    }
  }
}

TEST(NodeSplit, WithoutForceEvenTrainersStayInTheirPartitionsAndDivideThemEvenly) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    const RandomCase some(seed);
    const PartId parts = some.book.num_partitions();
    const auto pieces = SplitAmong(some.book, some.mask, 0, some.world, false);
    std::vector<std::vector<Ids>> of_part(static_cast<size_t>(parts));
    for (int rank = 0; rank < some.world; rank++) {
      const Ids& piece = pieces[static_cast<size_t>(rank)];
      if (some.world >= parts)
        of_part[static_cast<size_t>(rank * parts / some.world)].push_back(piece);
      for (int64_t id : piece) {
        const PartId owner = some.book.nodes().Owner(0, id);
        EXPECT_EQ(some.world >= parts ? rank * parts / some.world : rank,
                  some.world >= parts ? owner : owner * some.world / parts)
            << seed;
      }
    }
    for (const auto& of_one : of_part) {
      EXPECT_LE(of_one.empty() ? 0 : Spread(of_one), 1u) << seed;
    }
  }
}

TEST(NodeSplit, WithOneTrainerPerPartitionCutsWhereDglCuts) {
  // 7 ones among 3 trainers: the first gets one more.
  const PartitionBook book = BookOf(RangeMap({{4, 4, 4}}));
  const Tensor mask = Mask(12, [](size_t i) { return i != 1 && i < 8; });
  const auto pieces = SplitAmong(book, mask, 0, 3, true);
  EXPECT_EQ(pieces, (std::vector<Ids>{{0, 2, 3}, {4, 5}, {6, 7}}));
}

TEST(NodeSplit, WorksWithFewerNodesThanPartitionsAndWithNone) {
  const PartitionBook book = BookOf(RangeMap({{5, 5, 5, 5}}));
  for (bool force_even : {true, false}) {
    SplitAmong(book, Mask(20, [](size_t i) { return i == 17; }), 0, 4, force_even);
    for (const Ids& piece :
         SplitAmong(book, Mask(20, [](size_t) { return false; }), 0, 6, force_even)) {
      EXPECT_TRUE(piece.empty());
    }
  }
}

TEST(NodeSplit, SplitsEachTypeAndTheHomogeneousIds) {
  const PartitionBook book = BookOf(RangeMap({{3, 0, 5}, {2, 6, 1}}));
  for (int world : {1, 2, 3, 5}) {
    for (bool force_even : {true, false}) {
      SplitAmong(book, Mask(8, [](size_t i) { return i % 2 == 0; }), 0, world, force_even);
      SplitAmong(book, Mask(9, [](size_t i) { return i % 3 != 0; }), 1, world, force_even);
      SplitAmong(book, Mask(17, [](size_t i) { return i % 5 != 1; }), kHomogeneous, world,
                 force_even);
    }
  }
  // Partition 1 owns the homogeneous ids 5..10.
  const auto pieces =
      SplitAmong(book, Mask(17, [](size_t) { return true; }), kHomogeneous, 3, false);
  EXPECT_EQ(pieces[1], (Ids{5, 6, 7, 8, 9, 10}));
}

TEST(NodeSplit, CutsMasksOfManyBlocks) {
  const PartitionBook book = BookOf(RangeMap({{9'000'001, 10, 5'000'000}}));
  const Tensor mask = Mask(14'000'011, [](size_t i) { return i % 5 == 0; });
  EXPECT_LE(Spread(SplitAmong(book, mask, 0, 4, true)), 1u);
  SplitAmong(book, mask, 0, 6, false);
}

TEST(NodeSplit, RefusesWhatMakesNoSense) {
  const PartitionBook book = BookOf(RangeMap({{3, 4}}));
  const Tensor mask = Mask(7, [](size_t) { return true; });
  const auto refused = [&](const Tensor& some, int32_t type, const SplitOptions& options) {
    try {
      NodeSplit(book, some, type, options);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(mask, 0, {}), HasSubstr("rank -1 of -1"));
  EXPECT_THAT(refused(mask, 0, {.rank = 3, .world_size = 3}), HasSubstr("expected 0..2"));
  EXPECT_THAT(refused(mask, 0, {.rank = 0, .world_size = 0}), HasSubstr("of 0 trainers"));
  EXPECT_THAT(refused(mask, 1, {.rank = 0, .world_size = 1}), HasSubstr("type 1"));
  EXPECT_THAT(refused(mask, -2, {.rank = 0, .world_size = 1}), HasSubstr("type -2"));
  EXPECT_THAT(refused(mask, 0, {.rank = 0, .world_size = 1, .trainer_ids = "trainer_id"}),
              HasSubstr("trainer_id"));
  const SplitOptions first{.rank = 0, .world_size = 1};
  EXPECT_THAT(refused(Mask(6, [](size_t) { return true; }), 0, first), HasSubstr("has 6 rows"));
  EXPECT_THAT(refused(Tensor::Empty(DType::kInt64, {7}), 0, first), HasSubstr("holds int64"));
  EXPECT_THAT(refused(Tensor::Empty(DType::kUInt8, {7, 1}), 0, first), HasSubstr("2 dimensions"));
}

// ---- On graphs ----

// 90 nodes in 3 partitions with the features "trainer_id", "mask" and others, and edges with
// "mask".
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

TEST_F(GraphSplit, EveryTrainerOfASessionGetsItsOwn) {
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
        // The same from a mask of this process, and for another's rank.
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
    for (int world : {1, 2, 3, 4, 6, 9}) {  // of 6 trainers: a multiple, and not
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
      // Going from trainer to trainer, (partition, trainer id) never goes back.
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

TEST_F(GraphSplit, RefusesWhatIsNoMaskAndWhatAreNoTrainerIds) {
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
  EXPECT_THAT(refused(graph.ndata("mask"), {.trainer_ids = "nobody"}), HasSubstr("'nobody'"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.trainer_ids = "feat"}), HasSubstr("float32"));
  EXPECT_THAT(refused(graph.ndata("mask"), {.trainer_ids = "bad_trainer"}),
              HasSubstr("trainer id -1"));
}

TEST(NodeSplitServed, WithoutForceEvenOtherPartitionsAreNotRead) {
  ServedGraphFixture served(std::vector<std::vector<int>>{{0}, {1}});
  for (Transport transport : {Transport::kAuto, Transport::kTcp}) {
    Options options = served.TrainerOptions(transport, 1, 2);
    options.timeout = std::chrono::milliseconds(500);
    const DistGraph graph(Initialize(options));
    const DistTensor mask = graph.ndata("train_mask");
    const Ids mine = NodeSplit(graph, mask, {.force_even = false});
    EXPECT_GT(mine.size(), 0u);
    for (int64_t id : mine) EXPECT_EQ(graph.partition_book().nodes().Owner(0, id), 1);
  }
  Options options = served.TrainerOptions(Transport::kTcp, 1, 2);
  options.timeout = std::chrono::milliseconds(500);
  const DistGraph graph(Initialize(options));
  const DistTensor mask = graph.ndata("train_mask");
  served.daemon(0).Signal(SIGKILL);
  served.daemon(0).Wait();
  EXPECT_GT(NodeSplit(graph, mask, {.force_even = false}).size(), 0u);
  EXPECT_THROW(NodeSplit(graph, mask), Error);  // this one reads all
}

// Files that DGL wrote.
struct DglFiles {
  explicit DglFiles(const std::string& name) {
    test::CopyUnpacked(test::SourceFixtureRoot() + "/" + name, folder / name);
    options.part_config = folder / (name + "/sbm.json");
  }
  test::TempFolder folder;
  Options options;
};

TEST(NodeSplitDgl, TrainersGetWhatDglCutOutForThem) {
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
      // All of them, but for what evenness takes.
      EXPECT_GT(own, all * 9 / 10) << world << " " << force_even;
    }
  }
}

TEST(NodeSplitDgl, BooksThatMapEveryNodeAreSplitByOwner) {
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
