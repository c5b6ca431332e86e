// SPDX-License-Identifier: Apache-2.0
// Tests LABOR-0 sampling, which takes the neighbours with the smallest random numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sampling/index/edge_index.h"
#include "tests/unit/sampling/tiny_partition.h"
#include "tests/unit/sampling/trials.h"

namespace graphd::testing {
namespace {

SamplingRule Labor(int fanout) {
  SamplingRule rule;
  rule.method = SamplingMethod::kLabor;
  rule.fanout = fanout;
  return rule;
}

// Counts the outcomes of keys 0 .. trials-1.
Counts CountKeys(const EdgeSource& source, int fanout, size_t trials) {
  Counts counts;
  EdgeSampler edge_sampler;
  const std::vector<int64_t> row{0}, stream{0};
  for (uint64_t key = 0; key < trials; key++) {
    edge_sampler.Sample(source, row, stream, Labor(fanout), key);
    Outcome outcome = OutcomesOf(edge_sampler, 0)[0];
    std::sort(outcome.begin(), outcome.end());
    counts[outcome]++;
  }
  return counts;
}

TEST(LaborSampling, EverySetOfNeighborsIsEquallyLikely) {
  const auto partition = Star(6).Build();
  const EdgeSet exclude(std::vector<int64_t>{1});
  for (int fanout : {1, 3}) {
    const auto size = static_cast<size_t>(fanout);
    ExpectDistribution(CountKeys({&partition->csc(0), nullptr, nullptr, nullptr}, fanout, 60000),
                       UniformSets({0, 1, 2, 3, 4, 5}, size), "6 neighbours");
    ExpectDistribution(CountKeys({&partition->csc(0), nullptr, nullptr, &exclude}, fanout, 60000),
                       UniformSets({0, 2, 3, 4, 5}, size), "5 neighbours");
  }
}

// Returns the probability of each {i, j} to have the two smallest values of r / weight, where r is
// uniform in (0, 1). Integrates over the larger of the two values.
Probabilities SmallestPairs(const std::vector<double>& weights) {
  Probabilities pairs;
  const size_t n = weights.size();
  constexpr int kSteps = 200000;
  const double end = 1 / *std::min_element(weights.begin(), weights.end());
  for (size_t i = 0; i < n; i++) {
    for (size_t j = i + 1; j < n; j++) {
      double sum = 0;
      for (int step = 0; step < kSteps; step++) {
        const double y = (step + 0.5) * end / kSteps;
        const auto below = [&](size_t k) { return std::min(1.0, weights[k] * y); };
        const auto density = [&](size_t k) { return weights[k] * y < 1 ? weights[k] : 0; };
        double others = 1;
        for (size_t k = 0; k < n; k++) {
          if (k != i && k != j) others *= 1 - below(k);
        }
        sum += (below(i) * density(j) + below(j) * density(i)) * others;
      }
      pairs[{i, j}] = sum * end / kSteps;
    }
  }
  double total = 0;
  for (const auto& [pair, probability] : pairs) total += probability;
  EXPECT_NEAR(total, 1, 1e-4);
  for (auto& [pair, probability] : pairs) probability /= total;
  return pairs;
}

TEST(LaborSampling, WeightsDivideTheRandomNumbers) {
  TinyGraph graph = Star(6);
  graph.features.emplace_back("weight", Column(std::vector<double>{1, 2, 0, 4, 0.5, 3}));
  const auto partition = graph.Build();
  const AliasIndex alias(BuildEdgeIndex(*partition, {EdgeIndexKind::kAlias, false, 0, "weight"}),
                         partition->csc(0), partition->edge_feature(0, "weight").ReadAll());
  Probabilities expected;
  const uint64_t slots[] = {0, 1, 3, 4, 5};
  for (const auto& [pair, probability] : SmallestPairs({1, 2, 4, 0.5, 3})) {
    expected[{slots[pair[0]], slots[pair[1]]}] = probability;
  }
  const EdgeSource source{&partition->csc(0), &alias, nullptr, nullptr};
  ExpectDistribution(CountKeys(source, 2, 60000), expected, "weighted pairs");
  EXPECT_EQ(CountKeys(source, -1, 3), (Counts{{{0, 1, 3, 4, 5}, 3}}));
  EXPECT_EQ(CountKeys(source, 100, 3), (Counts{{{0, 1, 3, 4, 5}, 3}}));
}

TEST(LaborSampling, SeedsShareNeighbors) {
  // Two rows with 80 of 100 neighbours in common, in different slots.
  TinyGraph graph;
  graph.num_sources = 200;
  graph.rows.resize(2);
  for (uint64_t i = 0; i < 100; i++) {
    graph.rows[0].push_back(i);
    graph.rows[1].push_back(i + 20);
  }
  const auto partition = graph.Build();
  const Csc& csc = partition->csc(0);
  EdgeSampler edge_sampler;
  const std::vector<int64_t> rows{0, 1}, streams{17, 18};
  std::set<uint64_t> shared[2];
  edge_sampler.Sample({&csc, nullptr, nullptr, nullptr}, rows, streams, Labor(30), 5);
  const auto outcomes = OutcomesOf(edge_sampler, 0);
  for (size_t row = 0; row < 2; row++) {
    for (uint64_t slot : outcomes[row]) shared[row].insert(csc.indices[slot]);
    ASSERT_EQ(shared[row].size(), 30u);
  }
  std::set<uint64_t> all = shared[0];
  all.insert(shared[1].begin(), shared[1].end());
  EXPECT_LT(all.size(), 45u);  // expected: 51 if samples are independent, 37 if shared
}

TEST(LaborSampling, ExtremeFanoutsAreHonoured) {
  const auto partition = Star(3).Build();
  const EdgeSource source{&partition->csc(0), nullptr, nullptr, nullptr};
  EXPECT_EQ(CountKeys(source, 0, 3), (Counts{{{}, 3}}));
  EXPECT_EQ(CountKeys(source, -1, 3), (Counts{{{0, 1, 2}, 3}}));
  EXPECT_EQ(CountKeys(source, 3, 3), (Counts{{{0, 1, 2}, 3}}));
}

TEST(LaborSampling, HubsAreSampledUniformly) {
  const auto partition = Star(50000).Build();
  const EdgeSource source{&partition->csc(0), nullptr, nullptr, nullptr};
  EdgeSampler edge_sampler;
  const std::vector<int64_t> row{0}, stream{0};
  std::vector<uint64_t> hits(500);
  for (uint64_t key = 0; key < 1000; key++) {
    ASSERT_EQ(edge_sampler.Sample(source, row, stream, Labor(20), key), 20u);
    for (uint64_t slot : edge_sampler.slots()) hits[slot / 100]++;
  }
  ExpectUniform(hits, 1, "hub");
}

}  // namespace
}  // namespace graphd::testing
