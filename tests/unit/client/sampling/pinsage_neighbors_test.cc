// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "graphd/walks.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tiny_walks.h"

namespace graphd::testing {
namespace {

TEST(PinSageNeighbors, VisitsAreCountedAndTiesGoToTheLowerId) {
  // On a cycle every walk visits every node.
  const CutGraph graph(HomogeneousGraph(4, {{0, 1}, {1, 2}, {2, 0}}));
  const auto seeds = graph.New({0, 3, 2});
  PinSageOptions options{.num_traversals = 3, .num_random_walks = 5, .num_neighbors = 2};
  const VisitedNeighbors two = PinSageNeighbors(*graph, seeds, options);
  auto circle = graph.New({0, 1, 2});
  std::sort(circle.begin(), circle.end());
  EXPECT_EQ(two.indptr, (std::vector<int64_t>{0, 2, 2, 4}));
  EXPECT_EQ(two.neighbors, (std::vector<int64_t>{circle[0], circle[1], circle[0], circle[1]}));
  EXPECT_EQ(two.visits, (std::vector<int64_t>{5, 5, 5, 5}));
  options.num_traversals = 4;  // one round and one more step
  options.num_neighbors = -1;
  const VisitedNeighbors all = PinSageNeighbors(*graph, seeds, options);
  EXPECT_EQ(all.indptr, (std::vector<int64_t>{0, 3, 3, 6}));
  EXPECT_EQ(all.neighbors[0], graph.New(1));
  EXPECT_EQ(all.neighbors[3], graph.New(0));
  EXPECT_EQ(all.visits, (std::vector<int64_t>{10, 5, 5, 10, 5, 5}));
  options.termination_prob = 1;  // ends after the first traversal
  const VisitedNeighbors one = PinSageNeighbors(*graph, seeds, options);
  EXPECT_EQ(one.neighbors, graph.New({1, 0}));
  EXPECT_EQ(one.visits, (std::vector<int64_t>{5, 5}));
  options.direction = Direction::kIn;
  EXPECT_EQ(PinSageNeighbors(*graph, seeds, options).neighbors, graph.New({2, 1}));
  options.num_neighbors = 0;
  EXPECT_EQ(PinSageNeighbors(*graph, seeds, options).indptr, (std::vector<int64_t>(4, 0)));
  EXPECT_EQ(PinSageNeighbors(*graph, {}, options).indptr, (std::vector<int64_t>{0}));
}

TEST(PinSageNeighbors, WalksEndAfterATraversalWithTheTerminationProbability) {
  const CutGraph graph(HomogeneousGraph(4, {{0, 1}, {1, 2}, {2, 3}}));
  const auto seeds = graph.New(std::vector<int64_t>{0});
  constexpr int kWalks = 20000;
  const VisitedNeighbors found = PinSageNeighbors(*graph, seeds,
                                                  {.num_traversals = 3,
                                                   .termination_prob = 0.4,
                                                   .num_random_walks = kWalks,
                                                   .num_neighbors = 3});
  ASSERT_EQ(found.neighbors, graph.New({1, 2, 3}));
  EXPECT_EQ(found.visits[0], kWalks);
  const auto visits = [&](size_t i) { return static_cast<uint64_t>(found.visits[i]); };
  ExpectDistribution({{{1}, kWalks - visits(1)}, {{2}, visits(1) - visits(2)}, {{3}, visits(2)}},
                     {{{1}, 0.4}, {{2}, 0.24}, {{3}, 0.36}}, "lengths of walks");
}

TEST(PinSageNeighbors, VisitsOfTypedWalksAreThoseOfTheirTraversals) {
  const CutGraph graph(TypedGraph(30, 20, 2), 3);
  const std::vector<int64_t> seeds{3, 29, 3};
  const std::vector<EdgeTypeId> there_and_back{1, 3};
  constexpr int kWalks = 50;
  const VisitedNeighbors found = PinSageNeighbors(*graph, seeds,
                                                  {.num_traversals = 3,
                                                   .termination_prob = 0.5,
                                                   .num_random_walks = kWalks,
                                                   .num_neighbors = 4,
                                                   .metapath = there_and_back,
                                                   .seed = 5});
  EXPECT_EQ(found.ntype, 0);
  // Computes the same walks one by one.
  std::vector<int64_t> starts;
  for (int64_t seed : seeds) starts.insert(starts.end(), kWalks, seed);
  const Walks walks = RandomWalk(*graph, starts, {1, 3, 1, 3, 1, 3},
                                 {.restart_prob = {0, 0, 0.5, 0, 0.5, 0}, .seed = 5});
  for (size_t i = 0; i < seeds.size(); i++) {
    std::map<int64_t, int64_t> visits;
    for (size_t w = i * kWalks; w < (i + 1) * kWalks; w++) {
      for (size_t at : {2, 4, 6}) {
        if (walks[w][at] >= 0) visits[walks[w][at]]++;
      }
    }
    std::vector<std::pair<int64_t, int64_t>> expected;
    for (const auto& [node, count] : visits) expected.emplace_back(-count, node);
    std::sort(expected.begin(), expected.end());
    const auto begin = static_cast<size_t>(found.indptr[i]);
    const auto end = static_cast<size_t>(found.indptr[i + 1]);
    ASSERT_EQ(end - begin, std::min<size_t>(4, expected.size()));
    ASSERT_GT(end, begin);
    for (size_t k = begin; k < end; k++) {
      EXPECT_EQ(found.neighbors[k], expected[k - begin].second);
      EXPECT_EQ(found.visits[k], -expected[k - begin].first);
    }
  }
}

TEST(PinSageNeighbors, InvalidArgumentsAreErrors) {
  const CutGraph graph(TypedGraph(20, 30, 1));
  const std::vector<int64_t> seeds{0, 1}, high{20};
  const PinSageOptions good{.metapath = {1, 3}};
  const auto fails = [&](const std::vector<int64_t>& from, PinSageOptions options,
                         const std::string& text) {
    ExpectError([&] { PinSageNeighbors(*graph, from, options); }, ErrorCode::kInvalid, text);
  };
  const auto with = [&](const auto& change) {
    PinSageOptions options = good;
    change(options);
    return options;
  };
  fails(seeds, with([](auto& o) { o.num_traversals = 0; }), "num_traversals is 0; use 1 or more");
  fails(seeds, with([](auto& o) { o.num_traversals = INT32_MAX; }), "use 0..1048576");
  fails(seeds, with([](auto& o) { o.num_random_walks = -1; }), "num_random_walks is -1");
  fails(seeds, with([](auto& o) { o.num_random_walks = INT32_MAX; }),
        "use 1073741824 nodes at most");
  fails(seeds, with([](auto& o) { o.num_neighbors = -2; }), "num_neighbors is -2");
  fails(seeds, with([](auto& o) { o.termination_prob = 1.1; }), "termination_prob 1.1");
  fails(seeds, with([](auto& o) { o.metapath = {}; }), "name the metapath");
  fails(seeds, with([](auto& o) { o.metapath = {1}; }), "from node type 'author' to 'paper'");
  fails(seeds, with([](auto& o) { o.metapath = {1, 7}; }), "edge type 7");
  fails(seeds, with([](auto& o) { o.metapath = {1, 0, 3}; }), "begins at node type 'author'");
  fails(high, good, "seed 20 at position 0");
}

}  // namespace
}  // namespace graphd::testing
