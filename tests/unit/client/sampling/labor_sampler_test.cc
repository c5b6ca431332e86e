// SPDX-License-Identifier: Apache-2.0
// Tests LABOR over partitions: seeds share neighbours, and each row remains an unbiased sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/index.h"
#include "base/rng.h"
#include "graphd/samplers.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/batch_checks.h"
#include "tests/unit/sampling/chi_square.h"

namespace graphd::testing {
namespace {

constexpr int64_t kNodes = 600;
constexpr int kDegree = 20, kFanout = 5;

// Returns a graph in which every node has 20 different in-neighbours. An edge's weight is 0, 1 or
// 4.
RawGraph RegularGraph() {
  EdgeList list;
  CounterRng random(9);
  for (uint32_t v = 0; v < kNodes; v++) {
    std::set<uint32_t> sources;
    while (sources.size() < kDegree) sources.insert(static_cast<uint32_t>(random.Below(kNodes)));
    for (uint32_t u : sources) list.push_back({u, v});
  }
  RawGraph graph = HomogeneousGraph(kNodes, list);
  Tensor p = Tensor::Empty(DType::kFloat64, {static_cast<int64_t>(list.size())});
  for (size_t i = 0; i < list.size(); i++) {
    p.as<double>()[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 4 : 1;
  }
  graph.edges[0].features.push_back({"p", std::move(p)});
  return graph;
}

class Labor : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    files_ = std::make_unique<ServedGraphFixture>(RegularGraph(), std::vector<std::vector<int>>{},
                                                  GetParam());
    graph_ = std::make_unique<DistGraph>(Initialize(files_->StandaloneOptions()));
    for (int64_t i = 0; i < kNodes; i += 5) seeds_.push_back(i);
  }
  std::unique_ptr<ServedGraphFixture> files_;
  std::unique_ptr<DistGraph> graph_;
  std::vector<int64_t> seeds_;
};

size_t DistinctSources(const Block& block) {
  const auto& indices = block.edges[0].indices;
  return std::set<int32_t>(indices.begin(), indices.end()).size();
}

TEST_P(Labor, SeedsShareNeighborsAndRowsAreExact) {
  for (const char* column : {"", "p"}) {
    const SamplingMethod method = *column ? SamplingMethod::kWeighted : SamplingMethod::kUniform;
    size_t labor = 0, independent = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
      const MiniBatch a =
          LaborSampler({kFanout}, {.column = column}).Sample(*graph_, {seeds_}, seed);
      const MiniBatch b = NeighborSampler({kFanout}, {.method = method, .column = column})
                              .Sample(*graph_, {seeds_}, seed);
      const auto& indptr = a.blocks[0].edges[0].indptr;
      for (size_t v = 0; v < seeds_.size(); v++) ASSERT_EQ(indptr[v + 1] - indptr[v], kFanout);
      ASSERT_EQ(a.blocks[0].num_edges(), b.blocks[0].num_edges());
      labor += DistinctSources(a.blocks[0]);
      independent += DistinctSources(b.blocks[0]);
    }
    std::printf("column '%s': %.1f different sources, drawn independently %.1f\n", column,
                static_cast<double>(labor) / 20, static_cast<double>(independent) / 20);
    // Weights that depend on the edge and not only on its source permit less sharing.
    EXPECT_LT(labor * 10, independent * (*column ? 9 : 6));
  }
}

// Counts how often each in-edge of the first ten seeds was sampled in `batches` batches:
// [row][place].
std::vector<std::vector<uint64_t>> Hits(const DistGraph& graph, std::span<const int64_t> seeds,
                                        const std::string& column, uint64_t batches) {
  SamplingRule rule{0, Direction::kIn, SamplingMethod::kUniform, kAllNeighbors};
  const HopSeeds ten{seeds.first(10)};
  const auto all = SampleHop(graph, std::span(&ten, 1), std::span(&rule, 1), {0, 0, true, {}});
  rule = {0, Direction::kIn, SamplingMethod::kLabor, kFanout, false, column};
  std::vector<std::vector<uint64_t>> hits(10, std::vector<uint64_t>(kDegree, 0));
  for (uint64_t seed = 0; seed < batches; seed++) {
    const auto some =
        SampleHop(graph, std::span(&ten, 1), std::span(&rule, 1), {seed, 0, true, {}});
    for (size_t v = 0; v < 10; v++) {
      const auto row = std::span(all[0].edge_ids).subspan(v * kDegree, kDegree);
      for (size_t k = v * kFanout; k < (v + 1) * kFanout; k++) {
        hits[v][Index(std::find(row.begin(), row.end(), some[0].edge_ids.at(k)) - row.begin())]++;
      }
    }
  }
  return hits;
}

TEST_P(Labor, EveryNeighborOfARowIsEquallyLikelySoThatMeansAreUnbiased) {
  constexpr double kShare = static_cast<double>(kFanout) / kDegree;
  for (const auto& row : Hits(*graph_, seeds_, "", 4000)) {
    ExpectUniform(row, (1 - kShare) * kDegree / (kDegree - 1), "row");
  }
}

TEST_P(Labor, NeighborsAreSampledByWeightAndNeverWithWeightZero) {
  const auto hits = Hits(*graph_, seeds_, "p", 2000);
  const Neighbors all = SampleNeighbors(*graph_, std::span(seeds_).first(10), {.edge_ids = true});
  const Tensor p = graph_->edata("p").Read(all.edge_ids);
  for (size_t v = 0; v < 10; v++) {
    std::map<double, uint64_t> hits_of, edges_of;  // by weight
    for (size_t k = 0; k < kDegree; k++) {
      hits_of[p.as<double>()[v * kDegree + k]] += hits[v][k];
      edges_of[p.as<double>()[v * kDegree + k]]++;
    }
    EXPECT_EQ(edges_of, (std::map<double, uint64_t>{{0, 5}, {1, 10}, {4, 5}}));
    EXPECT_EQ(hits_of[0], 0u);
    EXPECT_EQ(hits_of[1] + hits_of[4], 2000u * kFanout);
    EXPECT_GT(hits_of[4] * 10, 2 * hits_of[1] * 5);
  }
}

INSTANTIATE_TEST_SUITE_P(OverPartitions, Labor, ::testing::Values(2, 3));

TEST(LaborOfTypes, EdgeTypesFromOneNodeTypeShareNeighbors) {
  EdgeList list;
  for (uint32_t v = 0; v < 30; v++) {
    for (uint32_t u = 0; u < 40; u++) list.push_back({u, v});
  }
  RawGraph one = HomogeneousGraph(40, list), raw;
  raw.schema = Schema({"user", "item"}, {{"user", "sees", "item"}, {"user", "buys", "item"}});
  for (int64_t count : {40, 30}) raw.nodes.emplace_back().count = count;
  for (int e = 0; e < 2; e++) {
    RawEdges edges;
    edges.src = one.edges[0].src;
    edges.dst = one.edges[0].dst;
    raw.edges.push_back(std::move(edges));
  }
  const ServedGraphFixture files(raw, {}, 2);
  const DistGraph graph(Initialize(files.StandaloneOptions()));
  const MiniBatch batch = LaborSampler({3, 3}).Sample(graph, {{}, {0, 7, 29}}, 4);
  const auto& edges = batch.blocks[1].edges;
  EXPECT_EQ(edges[0].indices, edges[1].indices);
  // Every row has the same 40 neighbours, so every seed has the same 3.
  EXPECT_EQ(batch.blocks[1].src_nodes[0].size(), 3u);
  const MiniBatch direct = NeighborSampler({3, 3}, {.method = SamplingMethod::kLabor})
                               .Sample(graph, {{}, {0, 7, 29}}, 4);
  ExpectSameBatch(batch, direct);
}

}  // namespace
}  // namespace graphd::testing
