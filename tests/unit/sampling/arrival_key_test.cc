// SPDX-License-Identifier: Apache-2.0
// Tests that samples of several parts, merged by their arrival keys, are distributed like those of
// the whole.
#include "sampling/arrival_key.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sampling/index/edge_index.h"
#include "sampling/rule_traits.h"
#include "sampling/sample_key.h"
#include "tests/unit/sampling/tiny_partition.h"
#include "tests/unit/sampling/trials.h"

namespace graphd::testing {
namespace {

// A part of a node's edges. The source of an edge is its number in the whole.
struct Part {
  std::vector<uint64_t> edges;  // numbers in the whole, by slot
  std::shared_ptr<const Partition> partition;
  std::optional<AliasIndex> alias;
  std::optional<OrderIndex> order;
  EdgeSet exclude;

  EdgeSource source() const {
    return {&partition->csc(0), alias ? &*alias : nullptr, &*order, &exclude};
  }
};

Part MakePart(const std::vector<uint64_t>& edges, const std::vector<double>& values,
              const std::vector<uint64_t>& excluded) {
  Part part;
  part.edges = edges;
  TinyGraph graph;
  graph.num_sources = static_cast<int64_t>(values.size());
  graph.rows = {edges};
  std::vector<double> column;
  std::vector<int64_t> out;
  for (size_t i = 0; i < edges.size(); i++) {
    column.push_back(values[edges[i]]);
    if (std::ranges::count(excluded, edges[i])) out.push_back(static_cast<int64_t>(i));
  }
  part.exclude.Assign(out);
  graph.features.emplace_back("value", Column(column));
  part.partition = graph.Build();
  const Csc& csc = part.partition->csc(0);
  if (std::ranges::all_of(values, [](double v) { return v >= 0; })) {
    part.alias.emplace(BuildEdgeIndex(*part.partition, {EdgeIndexKind::kAlias, false, 0, "value"}),
                       csc, part.partition->edge_feature(0, "value").ReadAll());
  }
  part.order.emplace(BuildEdgeIndex(*part.partition, {EdgeIndexKind::kOrder, false, 0, "value"}),
                     csc);
  return part;
}

// Splits edges 0 .. n-1 at random; the last part is empty.
std::vector<Part> Split(const std::vector<double>& values, size_t parts, uint64_t seed,
                        const std::vector<uint64_t>& excluded = {}) {
  CounterRng random(seed);
  std::vector<std::vector<uint64_t>> edges(parts + 1);
  for (uint64_t edge = 0; edge < values.size(); edge++) {
    edges[random.Below(parts)].push_back(edge);
  }
  std::vector<Part> made;
  for (const auto& mine : edges) made.push_back(MakePart(mine, values, excluded));
  return made;
}

std::vector<Outcome> MergeTrials(const std::vector<Part>& parts, SamplingRule rule, size_t trials,
                                 const SeedTimes& times = {}) {
  const std::vector<int64_t> rows(trials, 0);
  std::vector<int64_t> streams(trials);
  std::iota(streams.begin(), streams.end(), 0);
  std::vector<EdgeSampler> edge_samplers(parts.size());
  std::vector<PartArrivals> arrivals;
  rule.direction = Direction::kOut;
  for (size_t p = 0; p < parts.size(); p++) {
    const uint64_t key = PartKey(rule.method, 11, static_cast<uint32_t>(p));
    edge_samplers[p].Sample(parts[p].source(), rows, streams, rule, key, times);
    arrivals.push_back({edge_samplers[p].counts(), edge_samplers[p].arrival_keys()});
  }
  std::vector<uint32_t> counts;
  std::vector<MergedEdge> merged;
  MergeByArrival(arrivals, rule.fanout, rule.replace, counts, merged);
  std::vector<Outcome> outcomes(trials);
  size_t at = 0;
  for (size_t trial = 0; trial < trials; trial++) {
    for (uint32_t i = 0; i < counts[trial]; i++, at++) {
      const auto [part, position] = merged[at];
      outcomes[trial].push_back(parts[part].edges[edge_samplers[part].slots()[position]]);
    }
  }
  EXPECT_EQ(at, merged.size());
  return outcomes;
}

Counts CountOutcomes(const std::vector<Outcome>& outcomes) {
  Counts counts;
  for (const Outcome& outcome : outcomes) counts[outcome]++;
  return counts;
}

SamplingRule Rule(SamplingMethod method, int fanout, bool replace = false) {
  SamplingRule rule;
  rule.method = method;
  rule.fanout = fanout;
  rule.replace = replace;
  return rule;
}

TEST(MergedSamples, UniformSamplesOfAnySplitAreUniform) {
  const std::vector<double> ones(7, 1);
  for (uint64_t split = 0; split < 4; split++) {
    const auto parts = Split(ones, 1 + split, split);
    for (bool replace : {false, true}) {
      ExpectDistribution(
          CountOutcomes(
              MergeTrials(parts, Rule(SamplingMethod::kUniform, 3, replace), kDistributionTrials)),
          Successive(ones, 3, replace), "uniform");
    }
  }
}

TEST(MergedSamples, WeightedSamplesOfAnySplitFollowTheWeights) {
  const std::vector<double> weights{1, 2, 0, 4, 100, 0.5, 3, 1, 7};
  for (uint64_t split = 0; split < 4; split++) {
    const auto parts = Split(weights, 1 + split, split);
    for (bool replace : {false, true}) {
      ExpectDistribution(
          CountOutcomes(
              MergeTrials(parts, Rule(SamplingMethod::kWeighted, 3, replace), kDistributionTrials)),
          Successive(weights, 3, replace), "weighted");
    }
  }
}

TEST(MergedSamples, ExcludedEdgesAreNeverSampled) {
  const std::vector<double> weights{1, 2, 9, 4, 10, 0.5, 300, 1, 7};
  const std::vector<double> left{1, 0, 0, 4, 10, 0.5, 0, 1, 7}, ones{1, 0, 0, 1, 1, 1, 0, 1, 1};
  for (uint64_t split = 1; split < 3; split++) {
    const auto parts = Split(weights, 1 + split, split, {1, 2, 6});
    for (bool replace : {false, true}) {
      ExpectDistribution(
          CountOutcomes(
              MergeTrials(parts, Rule(SamplingMethod::kWeighted, 2, replace), kDistributionTrials)),
          Successive(left, 2, replace), "weighted");
      ExpectDistribution(
          CountOutcomes(
              MergeTrials(parts, Rule(SamplingMethod::kUniform, 2, replace), kDistributionTrials)),
          Successive(ones, 2, replace), "uniform");
    }
  }
}

TEST(MergedSamples, TemporalSamplesOfAnySplitAreUniformAmongEarlierEdges) {
  const std::vector<double> edge_times{5, 1, 9, 3, 7, 2, 8};
  const std::vector<double> eligible{1, 1, 0, 1, 0, 1, 0};
  const std::vector<int64_t> seed_times(kDistributionTrials, 7);
  for (uint64_t split = 0; split < 3; split++) {
    const auto parts = Split(edge_times, 1 + split, split);
    for (bool replace : {false, true}) {
      ExpectDistribution(
          CountOutcomes(MergeTrials(parts, Rule(SamplingMethod::kTemporalUniform, 2, replace),
                                    kDistributionTrials, std::span(seed_times))),
          Successive(eligible, 2, replace), "temporal");
    }
  }
}

TEST(MergedSamples, DeterministicSamplesOfAnySplitEqualThoseOfTheWhole) {
  const std::vector<double> values{5, -1, 9, 3, 7, -2.5, 8, 1e9, 0.25};
  const auto whole = Split(values, 1, 0);
  const std::vector<double> times{8, -100, 1e10};
  for (uint64_t split = 1; split < 6; split++) {
    const auto parts = Split(values, 1 + split, split);
    for (int fanout : {-1, 0, 1, 4, 20}) {
      for (bool largest : {false, true}) {
        SamplingRule rule = Rule(SamplingMethod::kTopK, fanout);
        rule.largest = largest;
        auto merged = MergeTrials(parts, rule, 1), expected = MergeTrials(whole, rule, 1);
        if (fanout < 0) {  // all edges, in the order of the parts
          std::ranges::sort(merged[0]);
          std::ranges::sort(expected[0]);
        }
        EXPECT_EQ(merged, expected);
      }
      if (fanout < 0) continue;
      const SamplingRule recent = Rule(SamplingMethod::kTemporalRecent, fanout);
      EXPECT_EQ(MergeTrials(parts, recent, 3, std::span(times)),
                MergeTrials(whole, recent, 3, std::span(times)));
      const SamplingRule labor = Rule(SamplingMethod::kLabor, fanout);
      EXPECT_EQ(MergeTrials(parts, labor, 3), MergeTrials(whole, labor, 3));
    }
  }
}

TEST(MergedSamples, LargeRowsSplitInTwoAreSampledUniformly) {
  const std::vector<double> ones(2000, 1);
  const auto parts = Split(ones, 2, 5);
  for (SamplingMethod method : {SamplingMethod::kUniform, SamplingMethod::kWeighted}) {
    std::vector<uint64_t> hits(ones.size());
    for (const Outcome& outcome : MergeTrials(parts, Rule(method, 20), 5000)) {
      ASSERT_EQ(outcome.size(), 20u);
      for (uint64_t edge : outcome) hits[edge]++;
    }
    ExpectUniform(hits, 1 - 20.0 / 2000, SamplingMethodName(method));
  }
}

TEST(MergeByArrival, TiesGoToTheLowerPartAndFanoutMinusOneKeepsAllEdges) {
  const std::vector<uint32_t> two{2, 0}, one{1, 1};
  const std::vector<ArrivalKey> a{5, 9}, b{5, 1};
  const std::vector<PartArrivals> parts{{two, a}, {one, b}};
  std::vector<uint32_t> counts;
  std::vector<MergedEdge> merged;
  MergeByArrival(parts, 2, false, counts, merged);
  EXPECT_EQ(counts, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(merged, (std::vector<MergedEdge>{{0, 0}, {1, 0}, {1, 1}}));
  MergeByArrival(parts, -1, false, counts, merged);
  EXPECT_EQ(merged, (std::vector<MergedEdge>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  MergeByArrival(parts, 0, false, counts, merged);
  EXPECT_EQ(counts, (std::vector<uint32_t>{0, 0}));
  MergeByArrival({}, 2, false, counts, merged);
  EXPECT_TRUE(counts.empty() && merged.empty());
}

TEST(MergeByArrival, PartsThatContradictThemselvesAreRefused) {
  const std::vector<uint32_t> one{1}, two{1, 1};
  const std::vector<ArrivalKey> a{5}, b{5, 6};
  std::vector<uint32_t> counts;
  std::vector<MergedEdge> merged;
  const auto merge = [&](std::vector<PartArrivals> parts, int fanout, bool replace) {
    MergeByArrival(parts, fanout, replace, counts, merged);
  };
  EXPECT_THROW(merge({{one, a}, {two, b}}, 2, false), Error);
  EXPECT_THROW(merge({{one, b}}, 2, false), Error);
  EXPECT_THROW(merge({{two, a}}, 2, false), Error);
  EXPECT_THROW(merge({{one, a}}, 2, true), Error);
  EXPECT_NO_THROW(merge({{one, a}}, 1, true));
}

TEST(Exponential, IsMinusTheLogarithm) {
  CounterRng random(1);
  double sum = 0;
  constexpr int kDraws = 1000000;
  for (int i = 0; i < kDraws; i++) {
    const uint64_t bits = random.Next();
    const double u = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
    ASSERT_NEAR(Exponential(bits), -std::log(u), 1e-14 * (1 - std::log(u))) << bits;
    sum += Exponential(bits);
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.005);
  EXPECT_GT(Exponential(UINT64_MAX), 0);
  EXPECT_LT(Exponential(0), 37);
}

}  // namespace
}  // namespace graphd::testing
