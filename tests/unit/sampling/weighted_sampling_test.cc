// SPDX-License-Identifier: Apache-2.0
// Tests that weighted samples are successive draws in proportion to weight.
#include <gtest/gtest.h>

#include <set>

#include "sampling/index/edge_index.h"
#include "tests/unit/sampling/tiny_partition.h"
#include "tests/unit/sampling/trials.h"

namespace graphd::testing {
namespace {

SamplingRule Weighted(int fanout, bool replace = false, bool arrivals = false) {
  SamplingRule rule;
  rule.method = SamplingMethod::kWeighted;
  rule.fanout = fanout;
  rule.replace = replace;
  rule.direction = arrivals ? Direction::kOut : Direction::kIn;
  return rule;
}

// A row of edges with these weights, and its alias index.
template <class T>
class WeightedStar {
 public:
  explicit WeightedStar(const std::vector<T>& weights, std::vector<int64_t> exclude = {})
      : exclude_(exclude) {
    TinyGraph graph = Star(weights.size());
    // The edge at position i of the CSC arrays has the feature row size - 1 - i.
    std::vector<T> by_edge_row(weights.rbegin(), weights.rend());
    for (size_t i = weights.size(); i-- > 0;) graph.edge_rows.push_back(i);
    graph.features.emplace_back("weight", Column(by_edge_row));
    partition_ = graph.Build();
    alias_.emplace(BuildEdgeIndex(*partition_, {EdgeIndexKind::kAlias, false, 0, "weight"}),
                   partition_->csc(0), partition_->edge_feature(0, "weight").ReadAll());
  }
  EdgeSource source() const { return {&partition_->csc(0), &*alias_, nullptr, &exclude_}; }
  const AliasIndex& alias() const { return *alias_; }

 private:
  EdgeSet exclude_;
  std::shared_ptr<const Partition> partition_;
  std::optional<AliasIndex> alias_;
};

using Weights = std::vector<double>;

TEST(WeightedSampling, SequencesAreSuccessiveDraws) {
  const std::vector<Weights> rows = {
      {1, 2, 3, 4},                       // uses keys from the start
      {1, 2, 3, 4, 5, 6, 0.5},            // draws
      {1000, 1, 1, 2, 1, 1, 1, 1, 1, 1},  // draws up to the limit, then uses keys
      {0, 5, 0, 1, 0, 3, 0, 0, 2, 0, 0},  // edges of weight 0 are never sampled
  };
  for (const Weights& weights : rows) {
    const WeightedStar<double> star(weights);
    for (bool arrivals : {false, true}) {
      ExpectDistribution(
          CountTrials(star.source(), Weighted(3, false, arrivals), kDistributionTrials, false),
          Successive(weights, 3, false), "without replacement");
      ExpectDistribution(
          CountTrials(star.source(), Weighted(3, true, arrivals), kDistributionTrials, false),
          Successive(weights, 3, true), "with replacement");
    }
  }
}

TEST(WeightedSampling, ExcludedEdgesCountAsWeightless) {
  // Excludes slots 1 and 4 of 6, which are edge rows 4 and 1.
  const WeightedStar<float> star({1, 20, 3, 4, 30, 2}, {4, 1});
  // Excludes edges that weigh so much that the sampler gives up drawing.
  const WeightedStar<float> heavy({1, 2000, 3, 4, 9000, 2, 1}, {5, 2});
  for (bool arrivals : {false, true}) {
    for (bool replace : {false, true}) {
      ExpectDistribution(
          CountTrials(star.source(), Weighted(2, replace, arrivals), kDistributionTrials, false),
          Successive({1, 0, 3, 4, 0, 2}, 2, replace), "4 of 6 eligible");
      ExpectDistribution(
          CountTrials(heavy.source(), Weighted(2, replace, arrivals), kDistributionTrials, false),
          Successive({1, 0, 3, 4, 0, 2, 1}, 2, replace), "5 of 7 eligible");
    }
  }
}

TEST(WeightedSampling, AMaskSamplesUniformlyAmongItsNonzeroEdges) {
  const WeightedStar<uint8_t> bytes({1, 0, 1, 7, 0, 1, 0, 0, 0, 1});
  const WeightedStar<int8_t> small({1, 0, 1, -1, 0, 1, 0, 0, 0, 1});
  const WeightedStar<bool> bools({true, false, true, true, false, true, false, false, false, true});
  for (const EdgeSource& source : {bytes.source(), small.source(), bools.source()}) {
    ExpectDistribution(CountTrials(source, Weighted(3), kDistributionTrials, true),
                       UniformSets({0, 2, 3, 5, 9}, 3), "mask");
    EXPECT_EQ(CountTrials(source, Weighted(5), 10, true), (Counts{{{0, 2, 3, 5, 9}, 10}}));
  }
}

TEST(WeightedSampling, ExtremeFanoutsAreHonoured) {
  const WeightedStar<double> star({0, 2, 0, 1, 1e-300});
  const WeightedStar<double> nothing({0, 0, 0});
  const WeightedStar<double> excluded({0, 1, 2}, {0, 1});
  for (bool arrivals : {false, true}) {
    for (bool replace : {false, true}) {
      const auto sample = [&](const auto& from, int fanout) {
        return CountTrials(from.source(), Weighted(fanout, replace, arrivals), 3, true);
      };
      EXPECT_EQ(sample(star, -1), (Counts{{{1, 3, 4}, 3}}));
      EXPECT_EQ(sample(star, 0), (Counts{{{}, 3}}));
      for (int fanout : {-1, 0, 1, 5}) {
        EXPECT_EQ(sample(nothing, fanout), (Counts{{{}, 3}}));
        EXPECT_EQ(sample(excluded, fanout), (Counts{{{}, 3}}));
      }
    }
    EXPECT_EQ(CountTrials(star.source(), Weighted(3, false, arrivals), 3, true),
              (Counts{{{1, 3, 4}, 3}}));
    EXPECT_EQ(CountTrials(star.source(), Weighted(100, false, arrivals), 3, true),
              (Counts{{{1, 3, 4}, 3}}));
  }
}

TEST(WeightedSampling, NeedsAnIndex) {
  const WeightedStar<double> star({1});
  EdgeSource source = star.source();
  source.alias = nullptr;
  EXPECT_THROW(CheckRule(source, Weighted(1)), Error);
}

// Makes a chi-square test of the sampled edges; without replacement, only of the first of each
// trial.
void ExpectHubFollowsWeights(uint64_t degree, bool replace, bool arrivals) {
  constexpr size_t kBuckets = 1000, kRounds = 20000;
  Weights weights(degree), share(kBuckets);
  CounterRng random(3);
  double total = 0;
  for (uint64_t i = 0; i < degree; i++) {
    weights[i] = random.Below(4) == 0 ? 0 : 1 + static_cast<double>(random.Below(100));
    share[i * kBuckets / degree] += weights[i];
    total += weights[i];
  }
  const WeightedStar<double> star(weights);
  const std::vector<int64_t> rows(kRounds, 0);
  std::vector<int64_t> streams(kRounds);
  std::iota(streams.begin(), streams.end(), 0);
  EdgeSampler edge_sampler;
  edge_sampler.Sample(star.source(), rows, streams, Weighted(10, replace, arrivals), kSomeKey);
  Counts hits;
  Probabilities expected;
  for (size_t b = 0; b < kBuckets; b++) expected[{b}] = share[b] / total;
  for (const Outcome& outcome : OutcomesOf(edge_sampler, 0)) {
    ASSERT_EQ(outcome.size(), 10u);
    for (uint64_t slot : outcome) ASSERT_GT(weights[slot], 0);
    if (!replace) {
      ASSERT_EQ(std::set<uint64_t>(outcome.begin(), outcome.end()).size(), outcome.size());
    }
    for (size_t i = 0; i < (replace ? 10 : 1); i++) hits[{outcome[i] * kBuckets / degree}]++;
  }
  ExpectDistribution(hits, expected, "hub");
}

TEST(WeightedSampling, EdgesOfNodesWithManyEdgesAreSampledByWeight) {
  for (bool arrivals : {false, true}) {
    for (bool replace : {false, true}) {
      ExpectHubFollowsWeights(50000, replace, arrivals);
      ExpectHubFollowsWeights(3 << 19, replace, arrivals);  // draws are recorded in a hash table
    }
  }
}

TEST(WeightedSampling, ARowsSampleDependsOnItsStreamAndTheKeyOnly) {
  const WeightedStar<float> star({1, 20, 3, 4, 30, 2, 7, 9, 11, 2}, {3});
  for (bool arrivals : {false, true}) {
    for (bool replace : {false, true}) {
      EdgeSampler fresh, used;
      const std::vector<int64_t> one_row{0}, one_stream{5}, rows{0, 0, 0}, streams{4, 9, 5};
      fresh.Sample(star.source(), one_row, one_stream, Weighted(4, replace, arrivals), kSomeKey);
      used.Sample(star.source(), rows, streams, Weighted(4, replace, arrivals), kSomeKey);
      EXPECT_EQ(OutcomesOf(fresh, 0)[0], OutcomesOf(used, 0)[2]);
      EXPECT_NE(OutcomesOf(used, 0)[0], OutcomesOf(used, 0)[2]);
    }
  }
}

}  // namespace
}  // namespace graphd::testing
