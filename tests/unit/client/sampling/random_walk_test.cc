// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "client/routing/edge_queries.h"
#include "client/routing/graph_access.h"
#include "graphd/walks.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tiny_walks.h"
#include "tests/unit/sampling/tiny_partition.h"

namespace graphd::testing {
namespace {

TEST(RandomWalk, EveryWalkHasItsExactProbability) {
  for (int parts : {1, 3}) {
    const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges), parts);
    for (Direction direction : {Direction::kOut, Direction::kIn}) {
      for (bool weighted : {false, true}) {
        const std::vector<int64_t> seeds(kWalkTrials, graph.New(4));
        const Walks walks =
            RandomWalk(*graph, seeds, 3,
                       {.direction = direction, .prob = weighted ? "weight" : "", .seed = 7});
        ASSERT_EQ(walks.count, kWalkTrials);
        ASSERT_EQ(walks.length, 3u);
        ASSERT_EQ(walks.nodes.size(), 4 * kWalkTrials);
        const auto distribution = WalkLaw(TinyEdges(direction, weighted), 4, 3);
        const std::string what = "walks over " + std::to_string(parts) + " partitions";
        ExpectDistribution(CountWalks(graph, walks), distribution, what.c_str());
      }
    }
  }
}

TEST(RandomWalk, WalksEndBeforeAStepWithItsRestartProbability) {
  const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges));
  const std::vector<int64_t> seeds(kWalkTrials, graph.New(0));
  const auto edges = TinyEdges(Direction::kOut, false);
  const Walks same = RandomWalk(*graph, seeds, 3, {.restart_prob = {0.3}, .seed = 1});
  ExpectDistribution(CountWalks(graph, same), WalkLaw(edges, 0, 3, {0.3, 0.3, 0.3}),
                     "one restart probability");
  const Walks each = RandomWalk(*graph, seeds, 3, {.restart_prob = {0, 0.6, 0.1}, .seed = 2});
  ExpectDistribution(CountWalks(graph, each), WalkLaw(edges, 0, 3, {0, 0.6, 0.1}),
                     "a restart probability per step");
  const Walks none = RandomWalk(*graph, seeds, 3, {.restart_prob = {1}, .edge_ids = true});
  for (size_t w = 0; w < none.count; w++) {
    ASSERT_EQ(none[w][0], seeds[w]);
    ASSERT_EQ(none[w][1], -1);
  }
  EXPECT_EQ(std::set<int64_t>(none.edge_ids.begin(), none.edge_ids.end()), std::set<int64_t>{-1});
}

TEST(RandomWalk, WalksEndAtNodesWithoutEdges) {
  const CutGraph graph(HomogeneousGraph(4, {{0, 1}, {1, 2}}), 2);
  const auto seeds = graph.New({0, 1, 2, 3});
  const Walks walks = RandomWalk(*graph, seeds, 4, {.edge_ids = true});
  const Counts expected{{{0, 1, 2, kEnded, kEnded}, 1},
                        {{1, 2, kEnded, kEnded, kEnded}, 1},
                        {{2, kEnded, kEnded, kEnded, kEnded}, 1},
                        {{3, kEnded, kEnded, kEnded, kEnded}, 1}};
  EXPECT_EQ(CountWalks(graph, walks), expected);
  EXPECT_EQ(std::count(walks.edge_ids.begin(), walks.edge_ids.end(), -1), 13);
  const Walks backwards = RandomWalk(*graph, seeds, 1, {.direction = Direction::kIn});
  EXPECT_EQ(CountWalks(graph, backwards),
            (Counts{{{0, kEnded}, 1}, {{1, 0}, 1}, {{2, 1}, 1}, {{3, kEnded}, 1}}));
}

TEST(RandomWalk, EdgesOfWeightZeroAreNeverTaken) {
  RawGraph raw = HomogeneousGraph(3, {{0, 1}, {0, 2}, {1, 0}, {2, 0}});
  raw.edges[0].features.push_back({"mask", Column<uint8_t>({0, 1, 1, 0})});
  const CutGraph graph(raw);
  const std::vector<int64_t> seeds(100, graph.New(0));
  const Walks walks = RandomWalk(*graph, seeds, 2, {.prob = "mask"});
  EXPECT_EQ(CountWalks(graph, walks), (Counts{{{0, 2, kEnded}, 100}}));
}

TEST(RandomWalk, TypedWalksFollowTheirMetapath) {
  const CutGraph graph(TypedGraph(40, 60, 3), 3);
  constexpr EdgeTypeId kAdvises = 0, kWrites = 1, kCites = 2, kRevWrites = 3;
  std::vector<int64_t> seeds(40);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (Direction direction : {Direction::kOut, Direction::kIn}) {
    std::vector<EdgeTypeId> metapath{kWrites, kCites, kRevWrites, kWrites};
    if (direction == Direction::kIn) metapath = {kRevWrites, kCites, kWrites, kRevWrites};
    const Walks walks =
        RandomWalk(*graph, seeds, metapath, {.direction = direction, .edge_ids = true});
    EXPECT_EQ(walks.ntypes, (std::vector<NodeTypeId>{0, 1, 1, 0, 1}));
    size_t steps = 0;
    for (size_t w = 0; w < walks.count; w++) {
      EXPECT_EQ(walks[w][0], seeds[w]);
      for (size_t s = 0; s < walks.length; s++) {
        const int64_t edge = walks.edge_ids[w * walks.length + s];
        ASSERT_EQ(edge < 0, walks[w][s + 1] < 0);
        if (edge < 0) continue;
        int64_t src = 0, dst = 0;
        EdgeQueries(*graph->access())
            .FindEdges(metapath[s], std::span(&edge, 1), std::span(&src, 1), std::span(&dst, 1));
        if (direction == Direction::kIn) std::swap(src, dst);
        ASSERT_EQ(src, walks[w][s]);
        ASSERT_EQ(dst, walks[w][s + 1]);
        steps++;
      }
    }
    EXPECT_GT(steps, 60u);
  }
  const Walks none = RandomWalk(*graph, seeds, {kAdvises, kWrites});
  EXPECT_EQ(none.ntypes, (std::vector<NodeTypeId>{0, 0, 1}));
  EXPECT_EQ(std::count(none.nodes.begin(), none.nodes.end(), -1), 80);
}

TEST(RandomWalk, TypedWalksAreUniformAmongTheEdgesOfEachType) {
  const CutGraph graph(TypedGraph(12, 9, 5), 2);
  const std::vector<int64_t> seeds(kWalkTrials, 3);
  // Computes the expected distribution from all edges; the metapath is "writes", then "cites".
  const std::vector<EdgeTypeId> metapath{1, 2};
  Probabilities distribution{{{3}, 1.0}};
  for (EdgeTypeId etype : metapath) {
    std::vector<int64_t> ids(static_cast<size_t>(graph->num_edges(etype))), src(ids), dst(ids);
    std::iota(ids.begin(), ids.end(), 0);
    src.resize(ids.size());
    dst.resize(ids.size());
    EdgeQueries(*graph->access()).FindEdges(etype, ids, src, dst);
    Probabilities longer;
    for (const auto& [path, probability] : distribution) {
      const auto degree = std::count(src.begin(), src.end(), static_cast<int64_t>(path.back()));
      Outcome next = path;
      next.push_back(kEnded);
      if (degree == 0) longer[next] += probability;
      for (size_t e = 0; e < ids.size() && degree > 0; e++) {
        if (src[e] != static_cast<int64_t>(path.back())) continue;
        next.back() = static_cast<uint64_t>(dst[e]);
        longer[next] += probability / static_cast<double>(degree);
      }
    }
    distribution = std::move(longer);
  }
  Counts counts;
  const Walks walks = RandomWalk(*graph, seeds, metapath, {.seed = 11});
  for (size_t w = 0; w < walks.count; w++) {
    Outcome path;
    for (int64_t v : walks[w]) path.push_back(v < 0 ? kEnded : static_cast<uint64_t>(v));
    counts[path]++;
  }
  ExpectDistribution(counts, distribution, "typed walks");
}

TEST(RandomWalk, WeightsOfOneTypeLeaveTheOthersUniform) {
  RawGraph raw = TypedGraph(20, 30, 4);
  raw.edges[2].features.clear();  // cites
  const CutGraph graph(raw, 2);
  const std::vector<int64_t> seeds{0, 1, 2, 3};
  EXPECT_EQ(RandomWalk(*graph, seeds, {1, 2}, {.prob = "weight"}).count, 4u);
  ExpectError([&] { RandomWalk(*graph, seeds, {2}, {.prob = "weight"}); }, ErrorCode::kNotFound,
              "no edge type of the metapath has a feature 'weight'");
}

TEST(RandomWalk, AWalkDependsOnItsIndexAndSeedOnly) {
  const CutGraph graph(HomogeneousGraph(200, RandomMultigraph(200, 2000, 6)), 2);
  std::vector<int64_t> seeds(50, 7);
  const Walks all = RandomWalk(*graph, seeds, 8, {.restart_prob = {0.05}, .seed = 3});
  const Walks some =
      RandomWalk(*graph, std::span(seeds).first(20), 8, {.restart_prob = {0.05}, .seed = 3});
  EXPECT_TRUE(std::equal(some.nodes.begin(), some.nodes.end(), all.nodes.begin()));
  EXPECT_GT(CountWalks(graph, all).size(), 30u) << "walks from the same node don't diverge";
  EXPECT_NE(RandomWalk(*graph, seeds, 8, {.restart_prob = {0.05}, .seed = 4}).nodes, all.nodes);
}

TEST(RandomWalk, WalksWithoutStepsOrSeedsAreEmpty) {
  const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges));
  const std::vector<int64_t> seeds{0, 3};
  const Walks still = RandomWalk(*graph, seeds, 0, {.edge_ids = true});
  EXPECT_EQ(still.nodes, seeds);
  EXPECT_TRUE(still.edge_ids.empty());
  const Walks none = RandomWalk(*graph, {}, 5);
  EXPECT_EQ(none.count, 0u);
  EXPECT_TRUE(none.nodes.empty());
  EXPECT_EQ(RandomWalk(*graph, seeds, {0}).length, 1u) << "{0} is a metapath, not a length";
}

TEST(RandomWalk, InvalidArgumentsAreErrors) {
  const CutGraph graph(TypedGraph(20, 30, 1));
  const CutGraph plain(HomogeneousGraph(kTinyNodes, kTinyEdges));
  const std::vector<int64_t> seeds{0, 1}, high{0, 20}, low{-1};
  const auto fails = [&](const CutGraph& on, const std::vector<int64_t>& from,
                         const std::vector<EdgeTypeId>& metapath, const WalkOptions& options,
                         const std::string& text) {
    ExpectError([&] { RandomWalk(*on, from, metapath, options); }, ErrorCode::kInvalid, text);
  };
  fails(graph, seeds, {}, {}, "metapath is empty");
  fails(graph, seeds, {1, 4}, {}, "edge type 4 of a walk is outside 0..3");
  fails(graph, seeds, {-1}, {}, "edge type -1");
  fails(graph, seeds, {1, 1}, {}, "begins at node type 'author', but the step before ends at 'pa");
  fails(graph, seeds, {1, 1}, {.direction = Direction::kIn}, "begins at node type 'paper', but");
  fails(graph, high, {1}, {}, "seed 20 at position 1 is outside 0..19");
  fails(graph, low, {1}, {.restart_prob = {1}}, "seed -1 at position 0");
  fails(graph, seeds, {1, 2}, {.restart_prob = {0, 0, 0}}, "3 restart probabilities for 2 steps");
  fails(graph, seeds, {1, 2}, {.restart_prob = {0, 1.5}}, "restart probability 1.5");
  fails(graph, seeds, {1}, {.restart_prob = {std::nan("")}}, "restart probability nan");
  ExpectError([&] { RandomWalk(*graph, seeds, 3); }, ErrorCode::kInvalid, "walk along a metapath");
  for (int64_t length : {int64_t{-1}, int64_t{1} << 40}) {
    ExpectError([&] { RandomWalk(*plain, seeds, length); }, ErrorCode::kInvalid, "use 0..1048576");
  }
  ExpectError([&] { RandomWalk(*plain, seeds, UINT64_MAX); }, ErrorCode::kInvalid, "use 0..");
  const std::vector<int64_t> many(2000, 1);
  ExpectError([&] { RandomWalk(*plain, many, 1 << 20); }, ErrorCode::kInvalid,
              "fewer seeds at once");
  ExpectError([&] { RandomWalk(*plain, seeds, 2, {.prob = "none"}); }, ErrorCode::kNotFound,
              "'none'");
  ExpectError([&] { RandomWalk(*plain, seeds, 0, {.prob = "orig_id"}); }, ErrorCode::kInvalid,
              "weights are float32");
}

}  // namespace
}  // namespace graphd::testing
