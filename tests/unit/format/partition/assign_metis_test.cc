// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/rng.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/edge_weights.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

using testing::EdgeList;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;

AssignOptions Options(int32_t parts) {
  AssignOptions options;
  options.num_parts = parts;
  options.method = PartMethod::kMetis;
  return options;
}

void ExpectRefused(const RawGraph& graph, const AssignOptions& options, ErrorCode code,
                   const std::vector<std::string>& texts) {
  try {
    AssignNodes(graph, options);
    FAIL() << "METIS accepted it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    for (const std::string& text : texts) EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(AssignMetis, TheRangeOfItsIndicesIsCheckedBeforeItStarts) {
  RawGraph graph = HomogeneousGraph(1, {});
  graph.nodes[0].count = INT32_MAX;
  AssignOptions options = Options(2);
  options.metis.max_bytes = UINT64_MAX;
  ExpectRefused(graph, options, ErrorCode::kInvalid, {"2147483647 nodes", "ldg or fennel"});
  graph = HomogeneousGraph(100, RandomMultigraph(100, 400, 1));
  options.metis.max_index = 200;
  ExpectRefused(graph, options, ErrorCode::kInvalid, {"neighbours", "200", "ldg or fennel"});
  options.metis.max_index = 800;
  EXPECT_NO_THROW(AssignNodes(graph, options));
}

TEST(AssignMetis, TheAvailableMemoryIsCheckedBeforeItStarts) {
  const RawGraph graph = HomogeneousGraph(1000, RandomMultigraph(1000, 8000, 1));
  AssignOptions options = Options(2);
  options.metis.max_bytes = 100 << 10;
  ExpectRefused(graph, options, ErrorCode::kOverloaded,
                {"METIS needs about ", "1000 nodes", "100 KiB", "ldg or fennel"});
  options.metis.max_bytes = 10 << 10;
  ExpectRefused(graph, options, ErrorCode::kOverloaded, {"10.0 KiB", "ldg or fennel"});
  options.metis.max_bytes = 10 << 20;
  EXPECT_NO_THROW(AssignNodes(graph, options));
}

TEST(AssignMetis, ProgressIsReportedWhileItWorks) {
  const RawGraph graph = HomogeneousGraph(1000, RandomMultigraph(1000, 8000, 1));
  std::map<std::string, uint64_t> last;
  AssignNodes(graph, Options(2),
              [&](const std::string& step, uint64_t, uint64_t total) { last[step] = total; });
  EXPECT_EQ(last.at("partitioning with METIS"), 0u) << "the total should be unknown";
}

// Returns 200 nodes, each with 12 edges of weight `half` to its half of the ids, and 6 edges of
// weight `parity` to nodes of its parity.
RawGraph TwoWays(float half, float parity) {
  CounterRng rng(3);
  EdgeList edges;
  for (uint32_t u = 0; u < 200; u++) {
    for (int i = 0; i < 18; i++) {
      const auto draw = static_cast<uint32_t>(rng.Below(100));
      edges.emplace_back(u, i < 12 ? u - u % 100 + draw : 2 * draw + u % 2);
    }
  }
  RawGraph graph = HomogeneousGraph(200, edges);
  const auto weight = graph.edges[0].features[0].values.as<float>();
  for (size_t i = 0; i < weight.size(); i++) weight[i] = i % 18 < 12 ? half : parity;
  return graph;
}

// Returns whether nodes with equal alike(node) are in the same partition.
bool Together(const RawGraph& graph, const std::string& weights,
              const std::function<size_t(size_t)>& alike) {
  AssignOptions options = Options(2);
  options.edge_weights = weights;
  const NodeOwners owners = AssignNodes(graph, options).owners;
  size_t same = 0;
  for (size_t i = 0; i < 200; i++) same += owners[0][i] == owners[0][alike(i)];
  return same > 190;
}

TEST(AssignMetis, HeavyEdgesAreNotCut) {
  const auto half = [](size_t i) { return i - i % 100; };
  const auto parity = [](size_t i) { return i % 2; };
  EXPECT_TRUE(Together(TwoWays(1, 100), "", half));
  EXPECT_TRUE(Together(TwoWays(1, 100), "weight", parity));
  EXPECT_TRUE(Together(TwoWays(0.001f, 0.1f), "weight", parity));
  EXPECT_TRUE(Together(TwoWays(1, 1), "weight", half));
}

TEST(AssignMetis, TheVolumeObjectiveNeedsNoMoreCopiesThanTheCut) {
  const RawGraph graph = HomogeneousGraph(3000, RandomMultigraph(3000, 9000, 12));
  const auto copies = [&](Objective objective) {
    AssignOptions options = Options(8);
    options.objective = objective;
    const NodeOwners owners = AssignNodes(graph, options).owners;
    std::set<std::pair<PartId, uint64_t>> needed;
    graph.edges[0].ForEach([&](size_t, uint64_t u, uint64_t v) {
      if (owners[0][u] == owners[0][v]) return;
      needed.emplace(owners[0][v], u);
      needed.emplace(owners[0][u], v);
    });
    return needed.size();
  };
  EXPECT_LT(copies(Objective::kVolume), copies(Objective::kCut));
}

TEST(EdgeWeights, WholeNumbersAreKeptAndOthersAreScaledToAnAverageOf1000) {
  RawGraph graph = HomogeneousGraph(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  const auto weight = graph.edges[0].features[0].values.as<float>();
  const auto set = [&](std::vector<float> values) {
    std::copy(values.begin(), values.end(), weight.begin());
  };
  const auto expect = [&](int64_t max_sum, std::vector<int32_t> values) {
    const EdgeWeights weights(graph, "weight", max_sum);
    for (size_t i = 0; i < 4; i++) EXPECT_EQ(weights.of(0, i), values[i]) << i;
  };
  set({3, 0, 7, 1});
  expect(1 << 30, {3, 1, 7, 1});
  set({0.5f, 0, 1, 0.5f});
  expect(1 << 30, {1000, 1, 2000, 1000});
  set({3000, 1000, 0, 4000});
  expect(84, {30, 10, 1, 40});
  expect(4, {1, 1, 1, 1});
  set({0, 0, 0, 0});
  expect(1 << 30, {1, 1, 1, 1});
}

TEST(EdgeWeights, InvalidWeightsAreErrorsWithEdgeAndValue) {
  RawGraph graph = HomogeneousGraph(3, {{0, 1}, {1, 2}});
  const auto refused = [&](const std::string& name, const std::vector<std::string>& texts) {
    try {
      EdgeWeights(graph, name, 1 << 30);
      FAIL() << texts[0] << " was accepted";
    } catch (const Error& error) {
      for (const std::string& text : texts) EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  refused("wieght", {"wieght", "there are: weight"});
  for (float bad : {-1.0f, NAN, INFINITY}) {
    graph.edges[0].features[0].values.as<float>()[1] = bad;
    refused("weight", {"_N:_E:_N", "edge 1", "at least 0"});
  }
  graph.edges[0].features[0].values = Tensor::Empty(DType::kFloat32, {2, 2});
  refused("weight", {"4 numbers", "2 edges"});
}

}  // namespace
}  // namespace graphd
