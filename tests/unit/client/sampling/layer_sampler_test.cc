// SPDX-License-Identifier: Apache-2.0
// Tests LADIES: which sources are chosen, how often, and the weights of their edges.
#include "graphd/layer_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/index.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/batch_checks.h"
#include "tests/unit/client/sampling_graph.h"
#include "tests/unit/sampling/chi_square.h"

namespace graphd::testing {
namespace {

// The edges into the destinations, nodes 0 and 1. Node 0 has a self loop; node 2 has two edges to
// node 0.
struct Entry {
  uint32_t src, dst;
  float p;
};
const std::vector<Entry> kEntries{{0, 0, 1},    {2, 0, 1},    {2, 0, 0.5f}, {2, 1, 1},
                                  {3, 0, 0.5f}, {4, 1, 1.5f}, {5, 0, 2},    {5, 1, 0.5f},
                                  {6, 1, 0},    {7, 1, 1},    {0, 3, 9}};
constexpr size_t kTrials = 30000;

RawGraph SmallGraph() {
  EdgeList list;
  for (const Entry& entry : kEntries) list.push_back({entry.src, entry.dst});
  RawGraph graph = HomogeneousGraph(8, list);
  const auto count = static_cast<int64_t>(list.size());
  Tensor p = Tensor::Empty(DType::kFloat32, {count}), bad = Tensor::Empty(DType::kFloat64, {count});
  for (size_t i = 0; i < list.size(); i++) {
    p.as<float>()[i] = kEntries[i].p;
    bad.as<double>()[i] = -1;
  }
  graph.edges[0].features.push_back({"p", std::move(p)});
  graph.edges[0].features.push_back({"bad", std::move(bad)});
  return graph;
}

// Returns squared column norms over the destinations, by source; unweighted entries are 1 /
// in-degree.
std::vector<double> Norms(bool weighted) {
  std::map<std::pair<uint32_t, uint32_t>, double> matrix;  // (src, dst)
  for (const Entry& entry : kEntries) {
    if (entry.dst > 1) continue;
    const double degree = entry.dst == 0 ? 5 : 5;
    matrix[{entry.src, entry.dst}] += weighted ? static_cast<double>(entry.p) : 1 / degree;
  }
  std::vector<double> norms(8, 0);
  for (const auto& [ends, value] : matrix) norms[ends.first] += value * value;
  return norms;
}

class SmallLayers : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    files_ = std::make_unique<ServedGraphFixture>(SmallGraph(), std::vector<std::vector<int>>{},
                                                  GetParam());
    graph_ = std::make_unique<DistGraph>(Initialize(files_->StandaloneOptions()));
    const Tensor orig = graph_->ndata("orig_id").Slice(0, 8);
    orig_.assign(orig.as<int64_t>().begin(), orig.as<int64_t>().end());
    for (int64_t i = 0; i < 2; i++) {
      seeds_.push_back(std::find(orig_.begin(), orig_.end(), i) - orig_.begin());
    }
  }
  uint64_t Original(int64_t id) const { return static_cast<uint64_t>(orig_[Index(id)]); }

  std::unique_ptr<ServedGraphFixture> files_;
  std::unique_ptr<DistGraph> graph_;
  std::vector<int64_t> orig_, seeds_;
};

TEST_P(SmallLayers, SourcesAreDrawnInProportionToTheirColumns) {
  for (const char* column : {"", "p"}) {
    const LayerSampler sampler({2}, {column});
    Counts counts;
    for (uint64_t seed = 0; seed < kTrials; seed++) {
      const MiniBatch batch = sampler.Sample(*graph_, {seeds_}, seed);
      Outcome outcome;
      const auto& nodes = batch.blocks[0].src_nodes[0];
      for (size_t i = 2; i < nodes.size(); i++) outcome.push_back(Original(nodes[i]));
      std::sort(outcome.begin(), outcome.end());
      counts[outcome]++;
    }
    // Node 0, a destination, takes part in the draw but is included in any case.
    Probabilities expected;
    for (const auto& [set, probability] : AsSets(Successive(Norms(*column != 0), 2, false))) {
      Outcome others;
      for (uint64_t node : set) {
        if (node != 0) others.push_back(node);
      }
      expected[others] += probability;
    }
    ExpectDistribution(counts, expected, *column ? "weighted" : "by degree");
  }
}

// The source of the self loop of node 0 is always included, so weights in this row relative to that
// of the self loop show the factor by which the others were divided.
TEST_P(SmallLayers, WeightedSumsAreUnbiased) {
  const LayerSampler sampler({2}, {"p"});
  std::vector<double> sum(8, 0), squares(8, 0);
  for (uint64_t seed = 0; seed < kTrials; seed++) {
    const MiniBatch batch = sampler.Sample(*graph_, {seeds_}, seed);
    const Block& block = batch.blocks[0];
    const BlockEdges& edges = block.edges[0];
    std::vector<double> row(8, 0);
    for (size_t k = 0; k < Index(edges.indptr[1]); k++) {
      row[Original(block.src_nodes[0][Index(edges.indices[k])])] +=
          static_cast<double>(edges.weights[k]);
    }
    ASSERT_GT(row[0], 0);
    for (size_t u = 0; u < 8; u++) {
      sum[u] += row[u] / row[0];
      squares[u] += row[u] / row[0] * row[u] / row[0];
    }
  }
  const double expected[] = {1, 0, 1.5, 0.5, 0, 2, 0, 0};
  for (size_t u = 0; u < 8; u++) {
    const double mean = sum[u] / kTrials;
    const double deviation = std::sqrt((squares[u] / kTrials - mean * mean) / kTrials);
    EXPECT_LT(std::abs(mean - expected[u]), 4 * deviation + 1e-5) << "node " << u;
  }
}

TEST_P(SmallLayers, WithAllSourcesWeightsAreTheRowsOfTheMatrix) {
  const MiniBatch batch = LayerSampler({kAllNeighbors}, {"p", true}).Sample(*graph_, {seeds_}, 1);
  const Block& block = batch.blocks[0];
  const BlockEdges& edges = block.edges[0];
  const Tensor p = graph_->edata("p").Read(edges.edge_ids);
  ASSERT_EQ(edges.indices.size(), 9u) << "edges of weight 0 are ignored";
  for (size_t v = 0; v < 2; v++) {
    const double total = v == 0 ? 5 : 4;
    for (size_t k = Index(edges.indptr[v]); k < Index(edges.indptr[v + 1]); k++) {
      EXPECT_NEAR(edges.weights[k], static_cast<double>(p.as<float>()[k]) / total, 1e-6);
    }
  }
}

TEST_P(SmallLayers, NegativeWeightsAreRefused) {
  EXPECT_THROW(LayerSampler({2}, {"bad"}).Sample(*graph_, {seeds_}, 1), Error);
}

INSTANTIATE_TEST_SUITE_P(OverPartitions, SmallLayers, ::testing::Values(2, 3));

class Layers : public ServedSamplingGraph {
 protected:
  static BatchRequest Request() {
    BatchRequest request{{{3, 17, 3}, {1, 9, 30}}, 8};
    request.exclude.resize(4);
    for (const KnownEdge& edge : known_[2]) {
      if (edge.id % 5 == 0) request.exclude[2].push_back(edge.id);
    }
    request.input_features = {{0, "feat"}, {1, "feat"}};
    request.seed_features = {{1, "label"}};
    return request;
  }
};

// Expects all known edges from the block's sources to its destinations and no others; rows sum to
// 1.
void ExpectAllEdgesOfSources(const Schema& schema, const Block& block, const std::string& column,
                             const std::vector<std::vector<KnownEdge>>& known,
                             const std::vector<std::vector<int64_t>>& exclude) {
  for (const BlockEdges& edges : block.edges) {
    const auto& src = block.src_nodes[Index(schema.src_type(edges.etype))];
    const auto dst = block.dst_nodes(schema.dst_type(edges.etype));
    const SamplingRule how{0, Direction::kIn, SamplingMethod::kWeighted, -1, false, column};
    ASSERT_EQ(edges.weights.size(), edges.indices.size());
    ASSERT_EQ(edges.indptr.size(), dst.size() + 1);
    for (size_t v = 0; v < dst.size(); v++) {
      std::set<int64_t> expected, got;
      for (const KnownEdge& edge :
           Eligible(known[Index(edges.etype)], how, dst[v], 0, 0, exclude[Index(edges.etype)])) {
        if (std::count(src.begin(), src.end(), edge.src)) expected.insert(edge.id);
      }
      float sum = 0;
      for (size_t k = Index(edges.indptr[v]); k < Index(edges.indptr[v + 1]); k++) {
        got.insert(edges.edge_ids[k]);
        ASSERT_EQ(src[Index(edges.indices[k])],
                  known[Index(edges.etype)][Index(edges.edge_ids[k])].src);
        ASSERT_GT(edges.weights[k], 0);
        sum += edges.weights[k];
      }
      ASSERT_EQ(got, expected);
      ASSERT_NEAR(sum, got.empty() ? 0 : 1, 1e-5);
    }
  }
}

TEST_F(Layers, LayersGrowByTheFanoutAtMostAndKeepEveryEdgeOfTheirSources) {
  for (const char* column : {"", "w", "mask"}) {
    for (int fanout : {0, 4, 1000, kAllNeighbors}) {
      const LayerSampler sampler({5, fanout}, {column, true});
      const BatchRequest request = Request();
      const MiniBatch batch = sampler.Sample(*alone_, request);
      ExpectChain(batch);
      for (size_t l = 0; l < 2; l++) {
        ExpectAllEdgesOfSources(alone_->schema(), batch.blocks[l], column, known_, request.exclude);
        const int64_t most = l == 0 ? 5 : fanout < 0 ? 1000 : fanout;
        for (size_t t = 0; t < 2; t++) {
          const auto sources = static_cast<int64_t>(batch.blocks[l].src_nodes[t].size());
          EXPECT_LE(sources, batch.blocks[l].num_dst[t] + most);
          EXPECT_TRUE(fanout == 0 || fanout == 1000 || sources > batch.blocks[l].num_dst[t]);
        }
      }
      for (NodeTypeId t = 0; t < 2; t++) {
        const Tensor feat = alone_->ndata("feat", t).Read(batch.input_nodes(t));
        ASSERT_EQ(batch.input_features[Index(t)].shape(), feat.shape());
        EXPECT_EQ(memcmp(batch.input_features[Index(t)].data(), feat.data(), feat.num_bytes()), 0);
      }
    }
  }
}

TEST_F(Layers, EachNodeTypeHasItsOwnFanout) {
  const LayerSampler sampler(std::vector<std::vector<int>>{{2, kAllNeighbors}, {0, 3}}, {});
  const MiniBatch batch = sampler.Sample(*alone_, Request());
  const Block& last = batch.blocks[1];
  EXPECT_EQ(static_cast<int64_t>(last.src_nodes[0].size()), last.num_dst[0]);
  EXPECT_LE(static_cast<int64_t>(last.src_nodes[1].size()), last.num_dst[1] + 3);
  EXPECT_GT(static_cast<int64_t>(last.src_nodes[1].size()), last.num_dst[1]);
  EXPECT_LE(static_cast<int64_t>(batch.blocks[0].src_nodes[0].size()),
            batch.blocks[0].num_dst[0] + 2);
}

TEST_F(Layers, LayersAreTheSameForEveryTransport) {
  for (const char* column : {"", "w", "mask"}) {
    const LayerSampler sampler({6, 4}, {column, true});
    const MiniBatch expected = sampler.Sample(*alone_, Request());
    BatchRequest other = Request();
    other.seed++;
    EXPECT_NE(sampler.Sample(*alone_, other).blocks[0].src_nodes, expected.blocks[0].src_nodes);
    for (Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
      const DistGraph graph(Initialize(served_->TrainerOptions(transport)), "hubs");
      ExpectSameBatch(expected, sampler.Sample(graph, Request()));
    }
  }
}

TEST_F(Layers, BadRequestsAreRefused) {
  const std::vector<std::vector<int>> too_many{{1, 1, 1}};
  EXPECT_THROW(LayerSampler({3, -2}), Error);
  EXPECT_THROW(LayerSampler(too_many, {}).Sample(*alone_, {{0}}, 1), Error);
  EXPECT_THROW(LayerSampler({3}, {"nothing"}).Sample(*alone_, {{0}}, 1), Error);
  EXPECT_THROW(LayerSampler({3}, {"time"}).Sample(*alone_, {{0}}, 1), Error);
  EXPECT_THROW(LayerSampler({3}).Sample(*alone_, {{kSamplingAuthors}}, 1), Error);
}

}  // namespace
}  // namespace graphd::testing
