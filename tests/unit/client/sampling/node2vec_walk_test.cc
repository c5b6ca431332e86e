// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "client/routing/edge_queries.h"
#include "client/routing/graph_access.h"
#include "graphd/walks.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tiny_walks.h"
#include "tests/unit/sampling/tiny_partition.h"

namespace graphd::testing {
namespace {

Bias SecondOrder(const std::vector<TinyEdge>& edges, double p, double q) {
  return [&edges, p, q](const Outcome& path, const TinyEdge& edge) {
    if (path.size() == 1) return 1.0;
    const uint64_t before = path[path.size() - 2];
    if (edge.to == before) return 1 / p;
    const bool near = std::any_of(edges.begin(), edges.end(), [&](const TinyEdge& e) {
      return e.from == edge.to && e.to == before;
    });
    return near ? 1.0 : 1 / q;
  };
}

TEST(Node2vecWalk, EveryWalkHasItsExactProbability) {
  const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges), 3);
  // With the first and last parameters nearly all proposals are rejected, so that neighbour lists
  // are used.
  constexpr std::pair<double, double> kParameters[] = {{1, 1}, {0.25, 4},  {4, 0.25},
                                                       {2, 1}, {1e4, 1e4}, {1e-4, 1}};
  for (const auto& [p, q] : kParameters) {
    for (Direction direction : {Direction::kOut, Direction::kIn}) {
      for (bool weighted : {false, true}) {
        const std::vector<int64_t> seeds(kWalkTrials, graph.New(4));
        const Walks walks =
            Node2vecWalk(*graph, seeds, p, q, 3,
                         {.direction = direction, .prob = weighted ? "weight" : "", .seed = 3});
        const auto edges = TinyEdges(direction, weighted);
        const std::string what =
            "p " + std::to_string(p) + ", q " + std::to_string(q) + (weighted ? ", weighted" : "");
        ExpectDistribution(CountWalks(graph, walks),
                           WalkLaw(edges, 4, 3, {}, SecondOrder(edges, p, q)), what.c_str());
      }
    }
  }
}

TEST(Node2vecWalk, LongNeighborListsAreReadInPortions) {
  // A walk goes from 1 to the hub and on. All next nodes are equally far, so equally likely.
  constexpr uint32_t kDegree = 3000;
  EdgeList edges{{1, 0}};
  for (uint32_t v = 2; v < 2 + kDegree; v++) edges.push_back({0, v});
  const CutGraph graph(HomogeneousGraph(2 + kDegree, edges), 2);
  const std::vector<int64_t> seeds(2000, graph.New(1));
  const Walks walks = Node2vecWalk(*graph, seeds, 1, 1e6, 2);
  std::vector<uint64_t> groups(20);
  for (size_t w = 0; w < walks.count; w++) {
    ASSERT_EQ(walks[w][1], graph.New(0));
    ASSERT_GE(walks[w][2], 0);
    const int64_t reached = graph.Original(walks[w][2]);
    ASSERT_GE(reached, 2);
    groups[static_cast<size_t>(reached) % groups.size()]++;
  }
  ExpectUniform(groups, 1, "nodes after a hub");
}

TEST(Node2vecWalk, MaskedEdgesHaveEqualWeightsInNeighborLists) {
  // A walk goes from 1 to 0 and on to 2, 3 or 4, which are far; the edge to 4 is masked out.
  RawGraph raw = HomogeneousGraph(5, {{1, 0}, {0, 2}, {0, 3}, {0, 4}});
  RawFeature mask{"mask", Tensor::Empty(DType::kInt8, {4})};
  const int8_t values[] = {1, 1, -100, 0};
  std::copy(std::begin(values), std::end(values), mask.values.as<int8_t>().begin());
  raw.edges[0].features.push_back(std::move(mask));
  const CutGraph graph(raw, 2);
  const std::vector<int64_t> seeds(2000, graph.New(1));
  for (double q : {1.0, 1e6}) {  // by proposals, and from neighbour lists
    std::vector<uint64_t> reached(2);
    const Walks walks = Node2vecWalk(*graph, seeds, 1, q, 2, {.prob = "mask"});
    for (size_t w = 0; w < walks.count; w++) {
      const int64_t node = graph.Original(walks[w][2]);
      ASSERT_TRUE(node == 2 || node == 3) << node;
      reached[static_cast<size_t>(node - 2)]++;
    }
    ExpectUniform(reached, 1, q == 1 ? "by proposals" : "from lists");
  }
}

TEST(Node2vecWalk, EdgeIdsNameTheEdgesOfTheWalk) {
  const CutGraph graph(HomogeneousGraph(300, RandomMultigraph(300, 3000, 2)), 2);
  std::vector<int64_t> seeds(300);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (double q : {0.5, 1e5}) {
    const Walks walks = Node2vecWalk(*graph, seeds, 2, q, 5, {.edge_ids = true});
    std::vector<int64_t> edges, src, dst;
    for (size_t w = 0; w < walks.count; w++) {
      for (size_t s = 0; s < walks.length; s++) {
        const int64_t edge = walks.edge_ids[w * walks.length + s];
        ASSERT_EQ(edge < 0, walks[w][s + 1] < 0);
        if (edge < 0) continue;
        edges.push_back(edge);
        src.push_back(walks[w][s]);
        dst.push_back(walks[w][s + 1]);
      }
    }
    ASSERT_GT(edges.size(), 500u);
    std::vector<int64_t> found_src(edges.size()), found_dst(edges.size());
    EdgeQueries(*graph->access()).FindEdges(0, edges, found_src, found_dst);
    EXPECT_EQ(found_src, src);
    EXPECT_EQ(found_dst, dst);
  }
}

TEST(Node2vecWalk, WalksEndAtNodesWithoutEdges) {
  RawGraph raw = HomogeneousGraph(4, {{0, 1}, {1, 2}, {1, 3}});
  raw.edges[0].features.push_back({"mask", Column<bool>({true, false, true})});
  const CutGraph graph(raw, 2);
  const std::vector<int64_t> seeds = graph.New({0, 0, 2});
  const Walks walks = Node2vecWalk(*graph, seeds, 1, 1e9, 3, {.prob = "mask"});
  EXPECT_EQ(CountWalks(graph, walks),
            (Counts{{{0, 1, 3, kEnded}, 2}, {{2, kEnded, kEnded, kEnded}, 1}}));
  EXPECT_EQ(Node2vecWalk(*graph, {}, 1, 1, 3).count, 0u);
  EXPECT_EQ(Node2vecWalk(*graph, seeds, 1, 1, 0).nodes, seeds);
}

TEST(Node2vecWalk, InvalidArgumentsAreErrors) {
  const CutGraph graph(TypedGraph(20, 30, 1));
  const std::vector<int64_t> seeds{0, 1}, high{30};
  const auto fails = [&](const std::vector<int64_t>& from, double p, double q, int64_t length,
                         const Node2vecOptions& options, const std::string& text) {
    ExpectError([&] { Node2vecWalk(*graph, from, p, q, length, options); }, ErrorCode::kInvalid,
                text);
  };
  fails(seeds, 0, 1, 3, {.etype = 2}, "node2vec's p is 0");
  fails(seeds, 1, -2, 3, {.etype = 2}, "node2vec's q is -2");
  fails(seeds, std::nan(""), 1, 3, {.etype = 2}, "node2vec's p is nan");
  fails(seeds, 1, INFINITY, 3, {.etype = 2}, "node2vec's q is inf");
  fails(seeds, 1, 1, -1, {.etype = 2}, "walks of -1 steps");
  fails(seeds, 1, 1, 1 << 21, {.etype = 2}, "use 0..1048576");
  fails(seeds, 1, 1, 3, {.etype = 1}, "author:writes:paper has two");
  fails(seeds, 1, 1, 3, {.etype = 9}, "edge type 9");
  fails(high, 1, 1, 3, {.etype = 2}, "seed 30 at position 0 is outside 0..29");
  ExpectError([&] { Node2vecWalk(*graph, seeds, 1, 1, 3, {.etype = 2, .prob = "none"}); },
              ErrorCode::kNotFound, "none");
  EXPECT_EQ(Node2vecWalk(*graph, seeds, 1, 2, 3, {.etype = 2}).ntypes,
            (std::vector<NodeTypeId>(4, 1)));
}

}  // namespace
}  // namespace graphd::testing
