// SPDX-License-Identifier: Apache-2.0
// Tests that samples of several partitions have the same distribution as those of one: enumerates
// all samples of a small node, and makes a chi-square test on a hub.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/sampling/chi_square.h"

namespace graphd::testing {
namespace {

const std::vector<float> kWeights{3, 1, 0, 2, 1.5f, 0.5f};
const std::vector<uint8_t> kMask{1, 0, 1, 1, 0, 1};
const std::vector<int64_t> kTimes{5, 1, 3, 3, 9, 2};
constexpr size_t kNear = 6, kHubDegree = 2000, kTrials = 40000;
constexpr int kFanout = 2;

// Returns a graph of node 0 with edges from and to each of 1..6, and of node 7, a hub, with edges
// from and to each of 8..2007. The k-th neighbour's edges have the values above at k, or, for the
// hub, at k % 6.
RawGraph Stars() {
  EdgeList list;
  for (uint32_t i = 0; i < kNear; i++) list.push_back({1 + i, 0});
  for (uint32_t i = 0; i < kNear; i++) list.push_back({0, 1 + i});
  for (uint32_t i = 0; i < kHubDegree; i++) list.push_back({8 + i, 7});
  for (uint32_t i = 0; i < kHubDegree; i++) list.push_back({7, 8 + i});
  RawGraph graph = HomogeneousGraph(8 + kHubDegree, list);
  const auto count = static_cast<int64_t>(list.size());
  Tensor p = Tensor::Empty(DType::kFloat32, {count}), mask = Tensor::Empty(DType::kBool, {count}),
         time = Tensor::Empty(DType::kInt64, {count});
  for (size_t i = 0; i < list.size(); i++) {
    const size_t end = i < 2 * kNear ? i % kNear : ((i - 2 * kNear) % kHubDegree) % kNear;
    p.as<float>()[i] = kWeights[end];
    mask.as<bool>()[i] = kMask[end] != 0;
    time.as<int64_t>()[i] = kTimes[end];
  }
  graph.edges[0].features.push_back({"p", std::move(p)});
  graph.edges[0].features.push_back({"mask", std::move(mask)});
  graph.edges[0].features.push_back({"time", std::move(time)});
  return graph;
}

class SamplingDistributions : public ::testing::TestWithParam<std::tuple<int, Direction>> {
 protected:
  static void SetUpTestSuite() {
    for (int parts : {2, 3}) {
      files_[parts] =
          std::make_unique<ServedGraphFixture>(Stars(), std::vector<std::vector<int>>{}, parts);
      graphs_[parts] = std::make_unique<DistGraph>(Initialize(files_[parts]->StandaloneOptions()));
    }
  }
  static void TearDownTestSuite() {
    graphs_.clear();
    files_.clear();
  }
  void SetUp() override {
    const Tensor orig = graph().ndata("orig_id").Slice(0, graph().num_nodes());
    orig_.assign(orig.as<int64_t>().begin(), orig.as<int64_t>().end());
    std::set<PartId> owners;
    for (int64_t i = 1; i <= static_cast<int64_t>(kNear); i++) {
      owners.insert(graph().partition_book().nodes().Owner(0, NewId(i)));
    }
    ASSERT_EQ(owners.size(), static_cast<size_t>(std::get<0>(GetParam())))
        << "a partition owns no neighbour";
  }
  const DistGraph& graph() const { return *graphs_.at(std::get<0>(GetParam())); }
  int64_t NewId(int64_t original) const {
    return std::find(orig_.begin(), orig_.end(), original) - orig_.begin();
  }
  SamplingRule Rule(SamplingMethod method, bool replace = false, std::string column = "") const {
    return {0, std::get<1>(GetParam()), method, kFanout, replace, std::move(column)};
  }

  // Counts the samples of node 0 as sets or sequences of neighbours 0..5; each trial has another
  // stream.
  Counts Trials(const SamplingRule& rule, bool as_sets, int64_t time = 0,
                const std::vector<std::vector<int64_t>>& exclude = {}) const {
    return Outcomes(NewId(0), 1, rule, kTrials, as_sets, time, exclude);
  }
  Counts Outcomes(int64_t node, int64_t first, const SamplingRule& rule, size_t trials,
                  bool as_sets, int64_t time = 0,
                  const std::vector<std::vector<int64_t>>& exclude = {}) const {
    const std::vector<int64_t> ids(trials, node), times(trials, time);
    std::vector<int64_t> streams(trials);
    std::iota(streams.begin(), streams.end(), 0);
    const HopSeeds seeds{ids, streams, times};
    const auto result =
        SampleHop(graph(), std::span(&seeds, 1), std::span(&rule, 1), {5, 0, false, exclude});
    return Count(result[0], first, as_sets);
  }
  Counts Count(const Neighbors& result, int64_t first, bool as_sets) const {
    Counts counts;
    for (size_t i = 0; i + 1 < result.indptr.size(); i++) {
      Outcome outcome;
      for (int64_t k = result.indptr[i]; k < result.indptr[i + 1]; k++) {
        const int64_t neighbor = result.neighbors[static_cast<size_t>(k)];
        outcome.push_back(static_cast<uint64_t>(orig_[static_cast<size_t>(neighbor)] - first));
      }
      if (as_sets) std::sort(outcome.begin(), outcome.end());
      counts[outcome]++;
    }
    return counts;
  }
  // Returns the ids of the edges that join node 0 to `neighbors`.
  std::vector<std::vector<int64_t>> EdgesWith(const std::set<int64_t>& neighbors) const {
    SamplingRule rule = Rule(SamplingMethod::kUniform);
    rule.fanout = kAllNeighbors;
    const int64_t id = NewId(0);
    const HopSeeds seeds{std::span(&id, 1)};
    const auto all =
        SampleHop(graph(), std::span(&seeds, 1), std::span(&rule, 1), {0, 0, true, {}});
    std::vector<std::vector<int64_t>> edges(1);
    for (size_t k = 0; k < all[0].neighbors.size(); k++) {
      if (neighbors.contains(orig_[static_cast<size_t>(all[0].neighbors[k])])) {
        edges[0].push_back(all[0].edge_ids[k]);
      }
    }
    EXPECT_EQ(edges[0].size(), neighbors.size());
    return edges;
  }

  static std::map<int, std::unique_ptr<ServedGraphFixture>> files_;
  static std::map<int, std::unique_ptr<DistGraph>> graphs_;
  std::vector<int64_t> orig_;
};

std::map<int, std::unique_ptr<ServedGraphFixture>> SamplingDistributions::files_;
std::map<int, std::unique_ptr<DistGraph>> SamplingDistributions::graphs_;

std::vector<double> Doubles(const auto& values) { return {values.begin(), values.end()}; }

TEST_P(SamplingDistributions, UniformSetsAndSequencesAreEquallyLikely) {
  ExpectDistribution(Trials(Rule(SamplingMethod::kUniform), true),
                     UniformSets({0, 1, 2, 3, 4, 5}, kFanout), "sets");
  ExpectDistribution(Trials(Rule(SamplingMethod::kUniform, true), false),
                     Successive(std::vector<double>(kNear, 1), kFanout, true), "sequences");
}

TEST_P(SamplingDistributions, ExcludedEdgesLeaveTheOthersEquallyLikely) {
  const auto exclude = EdgesWith({2, 5});
  ExpectDistribution(Trials(Rule(SamplingMethod::kUniform), true, 0, exclude),
                     UniformSets({0, 2, 3, 5}, kFanout), "sets");
  std::vector<double> left{3, 0, 0, 2, 0, 0.5};
  ExpectDistribution(Trials(Rule(SamplingMethod::kWeighted, true, "p"), false, 0, exclude),
                     Successive(left, kFanout, true), "weighted sequences");
  ExpectDistribution(Trials(Rule(SamplingMethod::kWeighted, false, "p"), true, 0, exclude),
                     AsSets(Successive(left, kFanout, false)), "weighted sets");
}

TEST_P(SamplingDistributions, WeightedSamplesAreSuccessiveDraws) {
  const auto weights = Doubles(kWeights), mask = Doubles(kMask);
  ExpectDistribution(Trials(Rule(SamplingMethod::kWeighted, false, "p"), true),
                     AsSets(Successive(weights, kFanout, false)), "weighted sets");
  ExpectDistribution(Trials(Rule(SamplingMethod::kWeighted, true, "p"), false),
                     Successive(weights, kFanout, true), "weighted sequences");
  ExpectDistribution(Trials(Rule(SamplingMethod::kWeighted, false, "mask"), true),
                     UniformSets({0, 2, 3, 5}, kFanout), "masked sets");
  ExpectDistribution(Trials(Rule(SamplingMethod::kWeighted, true, "mask"), false),
                     Successive(mask, kFanout, true), "masked sequences");
}

TEST_P(SamplingDistributions, TemporalSamplesAreUniformAmongOlderEdges) {
  ExpectDistribution(Trials(Rule(SamplingMethod::kTemporalUniform, false, "time"), true, 5),
                     UniformSets({1, 2, 3, 5}, kFanout), "sets");
  ExpectDistribution(Trials(Rule(SamplingMethod::kTemporalUniform, true, "time"), false, 5),
                     Successive({0, 1, 1, 1, 0, 1}, kFanout, true), "sequences");
}

TEST_P(SamplingDistributions, LaborSetsAreEquallyLikelyOverBatches) {
  Counts counts;
  const int64_t id = NewId(0);
  const HopSeeds seeds{std::span(&id, 1)};
  const SamplingRule rule = Rule(SamplingMethod::kLabor);
  for (uint64_t seed = 0; seed < kTrials / 2; seed++) {
    const auto result =
        SampleHop(graph(), std::span(&seeds, 1), std::span(&rule, 1), {seed, 0, false, {}});
    for (const auto& [outcome, count] : Count(result[0], 1, true)) counts[outcome] += count;
  }
  ExpectDistribution(counts, UniformSets({0, 1, 2, 3, 4, 5}, kFanout), "sets");
}

TEST_P(SamplingDistributions, NeighborsOfHubsAreEquallyLikely) {
  for (bool replace : {false, true}) {
    SamplingRule rule = Rule(SamplingMethod::kUniform, replace);
    for (int fanout : {10, 900}) {
      rule.fanout = fanout;
      const size_t trials = fanout == 10 ? 20000 : 300;
      std::vector<uint64_t> hits(kHubDegree, 0);
      for (const auto& [outcome, count] : Outcomes(NewId(7), 8, rule, trials, false)) {
        for (uint64_t place : outcome) hits[place] += count;
      }
      const double share = replace ? 0 : static_cast<double>(fanout) / kHubDegree;
      ExpectUniform(hits, 1 - share, replace ? "hub, sequences" : "hub, sets");
    }
  }
}

TEST_P(SamplingDistributions, NeighborsOfHubsFollowTheirWeights) {
  Probabilities expected;
  double total = 0;
  for (size_t i = 0; i < kHubDegree; i++) total += static_cast<double>(kWeights[i % kNear]);
  for (size_t i = 0; i < kHubDegree; i++) {
    if (kWeights[i % kNear] == 0) continue;
    expected[{i}] = static_cast<double>(kWeights[i % kNear]) / total;
  }
  for (bool replace : {false, true}) {
    SamplingRule rule = Rule(SamplingMethod::kWeighted, replace, "p");
    rule.fanout = 1;
    ExpectDistribution(Outcomes(NewId(7), 8, rule, 100000, false), expected, "hub");
  }
}

INSTANTIATE_TEST_SUITE_P(OverPartitions, SamplingDistributions,
                         ::testing::Combine(::testing::Values(2, 3),
                                            ::testing::Values(Direction::kIn, Direction::kOut)),
                         [](const auto& info) {
                           const bool in = std::get<1>(info.param) == Direction::kIn;
                           return std::to_string(std::get<0>(info.param)) + (in ? "In" : "Out");
                         });

}  // namespace
}  // namespace graphd::testing
