// SPDX-License-Identifier: Apache-2.0
#include "graphd/negative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "client/routing/edge_queries.h"
#include "client/routing/graph_access.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tiny_walks.h"

namespace graphd::testing {
namespace {

namespace ns = negative_sampler;

TEST(Negative, EachSourceGetsKDestinationsInTheOrderOfTheEdges) {
  const CutGraph graph(TypedGraph(20, 30, 1));
  const std::vector<int64_t> src{3, 3, 19}, dst{29, 0, 7};
  const NegativeEdges edges = ns::Uniform(4).Sample(*graph, 1, src, dst, 5);  // writes
  ASSERT_EQ(edges.src.size(), 12u);
  ASSERT_EQ(edges.dst.size(), 12u);
  for (size_t i = 0; i < 12; i++) {
    EXPECT_EQ(edges.src[i], src[i / 4]);
    EXPECT_GE(edges.dst[i], 0);
    EXPECT_LT(edges.dst[i], 30);
  }
  const NegativeEdges again = ns::PerSourceUniform(4).Sample(*graph, 1, src, dst, 5);
  EXPECT_EQ(again.dst, edges.dst);
  EXPECT_NE(ns::Uniform(4).Sample(*graph, 1, src, dst, 6).dst, edges.dst);
  EXPECT_NE(ns::Uniform(4).Sample(*graph, 3, dst, src, 5).dst, edges.dst);
  EXPECT_TRUE(ns::Uniform(4).Sample(*graph, 1, {}, {}, 5).src.empty());
}

TEST(Negative, DestinationsOfSourcesAreUniform) {
  const CutGraph graph(TypedGraph(20, 30, 1));
  const std::vector<int64_t> src(1000, 4), dst(1000, 2);
  std::vector<uint64_t> counts(30), by_place(30);
  for (uint64_t seed = 0; seed < 20; seed++) {
    const NegativeEdges edges = ns::Uniform(5).Sample(*graph, 1, src, dst, seed);
    for (int64_t v : edges.dst) counts[static_cast<size_t>(v)]++;
  }
  for (uint64_t seed = 0; seed < 20000; seed++) {
    const auto edges =
        ns::Uniform(1).Sample(*graph, 1, std::span(src).first(1), std::span(dst).first(1), seed);
    by_place[static_cast<size_t>(edges.dst[0])]++;
  }
  ExpectUniform(counts, 1, "destinations within batches");
  ExpectUniform(by_place, 1, "the first destination of batches");
}

// Returns the pairs, each encoded as one number.
Outcome Pairs(const NegativeEdges& edges, int64_t destinations) {
  Outcome pairs;
  for (size_t i = 0; i < edges.src.size(); i++) {
    pairs.push_back(static_cast<uint64_t>(edges.src[i] * destinations + edges.dst[i]));
  }
  return pairs;
}

// Returns all pairs of an edge type that are not edges; self loops only if `loops` is set.
Outcome Unconnected(const CutGraph& graph, EdgeTypeId etype, bool loops) {
  const int64_t sources = graph->num_nodes(graph->schema().src_type(etype));
  const int64_t destinations = graph->num_nodes(graph->schema().dst_type(etype));
  std::vector<int64_t> ids(static_cast<size_t>(graph->num_edges(etype)));
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<int64_t> src(ids.size()), dst(ids.size());
  EdgeQueries(*graph->access()).FindEdges(etype, ids, src, dst);
  const Outcome edges = Pairs({src, dst}, destinations);
  Outcome pairs;
  for (int64_t u = 0; u < sources; u++) {
    for (int64_t v = 0; v < destinations; v++) {
      const auto pair = static_cast<uint64_t>(u * destinations + v);
      const bool edge = std::find(edges.begin(), edges.end(), pair) != edges.end();
      if (!edge && (loops || u != v)) pairs.push_back(pair);
    }
  }
  return pairs;
}

TEST(Negative, GlobalPairsAreUniformAmongNonEdges) {
  const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges), 3);
  for (bool loops : {false, true}) {
    for (double redundancy : {0.0, 2.0}) {
      const Outcome possible = Unconnected(graph, 0, loops);
      const NegativeEdges edges = GlobalUniformNegatives(
          *graph, 20000,
          {.exclude_self_loops = !loops, .replace = true, .redundancy = redundancy, .seed = 9});
      ASSERT_EQ(edges.src.size(), 20000u);
      Counts counts;
      for (uint64_t pair : Pairs(edges, kTinyNodes)) counts[{pair}]++;
      ExpectDistribution(counts, UniformSets(possible, 1), "negative edges");
    }
  }
}

TEST(Negative, GlobalPairsWithoutReplacementAreUniformSets) {
  const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges), 2);
  Counts counts;
  for (uint64_t seed = 0; seed < 10000; seed++) {
    Outcome pair = Pairs(GlobalUniformNegatives(*graph, 2, {.seed = seed}), kTinyNodes);
    std::sort(pair.begin(), pair.end());
    counts[pair]++;
  }
  ExpectDistribution(counts, UniformSets(Unconnected(graph, 0, false), 2), "sets of two");
}

TEST(Negative, RequestingMoreGlobalPairsThanExistReturnsAll) {
  const CutGraph graph(HomogeneousGraph(kTinyNodes, kTinyEdges), 2);
  Outcome all = Pairs(GlobalUniformNegatives(*graph, 1000), kTinyNodes);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Unconnected(graph, 0, false));
  EdgeList edges;
  for (uint32_t u = 0; u < 5; u++) {
    for (uint32_t v = 0; v < 5; v++) edges.push_back({u, v});
  }
  const CutGraph complete(HomogeneousGraph(5, edges));
  EXPECT_TRUE(GlobalUniformNegatives(*complete, 1000, {.replace = true}).src.empty());
  const CutGraph one(HomogeneousGraph(1, {}));
  EXPECT_TRUE(GlobalUniformNegatives(*one, 3).src.empty());
  EXPECT_EQ(GlobalUniformNegatives(*one, 3, {.exclude_self_loops = false}).src.size(), 1u);
}

TEST(Negative, GlobalPairsOfTypedEdgesMayHaveEqualIds) {
  const CutGraph graph(TypedGraph(8, 10, 1), 2);
  const std::vector<int64_t> src{0, 1, 2}, dst{3, 4, 5};
  Counts counts;
  for (uint64_t seed = 0; seed < 1000; seed++) {
    const NegativeEdges edges = ns::GlobalUniform(4).Sample(*graph, 1, src, dst, seed);
    ASSERT_EQ(edges.src.size(), 12u);
    for (uint64_t pair : Pairs(edges, 10)) counts[{pair}]++;
  }
  const Outcome possible = Unconnected(graph, 1, true);
  std::vector<uint64_t> by_pair;
  for (uint64_t pair : possible) by_pair.push_back(counts[{pair}]);
  EXPECT_EQ(counts.size(), possible.size()) << "some pair is an edge";
  // Twelve of the pairs exclude one another.
  ExpectUniform(by_pair, 1 - 12.0 / static_cast<double>(possible.size()), "author, paper");
  EXPECT_EQ(ns::GlobalUniform(4).Sample(*graph, 1, src, dst, 7).dst,
            ns::GlobalUniform(4).Sample(*graph, 1, src, dst, 7).dst);
  EXPECT_TRUE(ns::GlobalUniform(4).Sample(*graph, 1, {}, {}, 7).src.empty());
}

TEST(Negative, InvalidArgumentsAreErrors) {
  const CutGraph graph(TypedGraph(20, 30, 1));
  const std::vector<int64_t> one{1}, two{1, 2}, high{20}, low{-1};
  const auto sample = [&](EdgeTypeId etype, std::span<const int64_t> src,
                          std::span<const int64_t> dst) {
    return [&graph, etype, src, dst] { ns::Uniform(2).Sample(*graph, etype, src, dst, 0); };
  };
  ExpectError([] { ns::Uniform(0); }, ErrorCode::kInvalid, "k = 0");
  ExpectError([] { ns::Uniform((1 << 20) + 1); }, ErrorCode::kInvalid, "1048576");
  ExpectError(sample(4, one, one), ErrorCode::kInvalid, "edge type 4 is outside 0..3");
  ExpectError(sample(-1, one, one), ErrorCode::kInvalid, "edge type -1");
  ExpectError(sample(1, one, two), ErrorCode::kInvalid, "1 sources and 2");
  ExpectError(sample(1, high, one), ErrorCode::kInvalid,
              "source 20 at position 0 is outside 0..19");
  ExpectError(sample(3, one, high), ErrorCode::kInvalid, "destination 20");
  ExpectError(sample(1, one, low), ErrorCode::kInvalid, "destination -1");
  const std::vector<int64_t> many(1025, 1);
  ExpectError([&] { ns::Uniform(1 << 20).Sample(*graph, 1, many, many, 0); }, ErrorCode::kInvalid,
              "1073741824");
  ExpectError([] { ns::GlobalUniform(0); }, ErrorCode::kInvalid, "k = 0");
  ExpectError([] { ns::GlobalUniform(1, true, false, -1); }, ErrorCode::kInvalid, "redundancy -1");
  ExpectError([&] { ns::GlobalUniform(1).Sample(*graph, 1, high, one, 0); }, ErrorCode::kInvalid,
              "source 20");
  const auto global = [&](int64_t count, const GlobalNegativeOptions& options) {
    return [&graph, count, options] { GlobalUniformNegatives(*graph, count, options); };
  };
  ExpectError(global(-1, {}), ErrorCode::kInvalid, "-1 negative edges");
  ExpectError(global(int64_t{1} << 31, {}), ErrorCode::kInvalid, "use 0..1073741824");
  ExpectError(global(1, {.etype = 4}), ErrorCode::kInvalid, "edge type 4 is outside 0..3");
  ExpectError(global(1, {.redundancy = std::nan("")}), ErrorCode::kInvalid, "redundancy nan");
}

}  // namespace
}  // namespace graphd::testing
