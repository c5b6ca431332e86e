// SPDX-License-Identifier: Apache-2.0
#include "graphd/negative.h"

#include <gtest/gtest.h>

#include "tests/unit/client/cut_graph.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/sampling/chi_square.h"

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

TEST(Negative, SenselessArgumentsAreErrors) {
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
}

}  // namespace
}  // namespace graphd::testing
