// SPDX-License-Identifier: Apache-2.0
// Tests that uniform sampling makes every set, or sequence, equally likely.
#include <gtest/gtest.h>

#include <climits>

#include <set>

#include "sampling/uniform_sampler.h"
#include "tests/unit/sampling/tiny_partition.h"
#include "tests/unit/sampling/trials.h"

namespace graphd::testing {
namespace {

SamplingRule Uniform(int fanout, bool replace = false, bool arrivals = false) {
  SamplingRule rule;
  rule.fanout = fanout;
  rule.replace = replace;
  rule.direction = arrivals ? Direction::kOut : Direction::kIn;
  return rule;
}

EdgeSource From(const Partition& partition, const EdgeSet* exclude = nullptr) {
  return {&partition.csc(0), nullptr, nullptr, exclude};
}

TEST(UniformSampling, EverySetIsEquallyLikely) {
  const auto partition = Star(6).Build();
  for (int fanout = 1; fanout <= 5; fanout++) {
    ExpectDistribution(CountTrials(From(*partition), Uniform(fanout), kDistributionTrials, true),
                       UniformSets({0, 1, 2, 3, 4, 5}, static_cast<size_t>(fanout)), "sets of 6");
  }
}

TEST(UniformSampling, EverySequenceWithReplacementIsEquallyLikely) {
  const auto partition = Star(4).Build();
  for (bool arrivals : {false, true}) {
    ExpectDistribution(
        CountTrials(From(*partition), Uniform(3, true, arrivals), kDistributionTrials, false),
        Successive({1, 1, 1, 1}, 3, true), "sequences of 4, with replacement");
  }
}

TEST(UniformSampling, WithArrivalKeysEverySequenceIsEquallyLikely) {
  for (uint64_t degree : {3, 4, 9}) {  // takes all edges, shuffles, or draws
    const auto partition = Star(degree).Build();
    ExpectDistribution(
        CountTrials(From(*partition), Uniform(3, false, true), kDistributionTrials, false),
        Successive(std::vector<double>(degree, 1), 3, false), "arrivals");
  }
}

TEST(UniformSampling, ExcludedEdgesLeaveTheOthersEquallyLikely) {
  TinyGraph graph = Star(7);
  graph.edge_rows = {6, 5, 4, 3, 2, 1, 0};
  const auto partition = graph.Build();
  const EdgeSet exclude(std::vector<int64_t>{6, 3, 50});  // slots 0 and 3
  for (bool arrivals : {false, true}) {
    for (int fanout : {2, 3, 4}) {
      ExpectDistribution(CountTrials(From(*partition, &exclude), Uniform(fanout, false, arrivals),
                                     kDistributionTrials, true),
                         UniformSets({1, 2, 4, 5, 6}, static_cast<size_t>(fanout)),
                         "5 of 7 eligible");
    }
    ExpectDistribution(CountTrials(From(*partition, &exclude), Uniform(2, true, arrivals),
                                   kDistributionTrials, false),
                       Successive({0, 1, 1, 0, 1, 1, 1}, 2, true),
                       "5 of 7 eligible, with replacement");
  }
}

TEST(UniformSampling, AlmostAllOfARowMayBeExcluded) {
  const auto partition = Star(100).Build();
  std::vector<int64_t> rows(98);
  std::iota(rows.begin(), rows.end(), 0);
  const EdgeSet exclude(rows);
  for (bool arrivals : {false, true}) {
    const auto source = From(*partition, &exclude);
    ExpectDistribution(CountTrials(source, Uniform(1, false, arrivals), 20000, false),
                       {{{98}, 0.5}, {{99}, 0.5}}, "2 of 100, one");
    EXPECT_EQ(CountTrials(source, Uniform(10, false, arrivals), 100, true),
              (Counts{{{98, 99}, 100}}));
    ExpectDistribution(CountTrials(source, Uniform(2, true, arrivals), 20000, false),
                       {{{98, 98}, 0.25}, {{98, 99}, 0.25}, {{99, 98}, 0.25}, {{99, 99}, 0.25}},
                       "2 of 100, with replacement");
  }
}

TEST(UniformSampling, ARowWithoutEligibleEdgesGivesNone) {
  const auto partition = Star(5).Build();
  const EdgeSet exclude(std::vector<int64_t>{0, 1, 2, 3, 4});
  for (bool arrivals : {false, true}) {
    for (bool replace : {false, true}) {
      for (int fanout : {-1, 0, 1, 3, 5, 100}) {
        EXPECT_EQ(
            CountTrials(From(*partition, &exclude), Uniform(fanout, replace, arrivals), 5, false),
            (Counts{{{}, 5}}));
      }
    }
  }
}

TEST(UniformSampling, ExtremeFanoutsAreHonoured) {
  TinyGraph graph;
  graph.num_sources = 9;
  graph.rows = {{}, {4}, {1, 2, 3}};
  const auto partition = graph.Build();
  EdgeSampler edge_sampler;
  const std::vector<int64_t> rows{2, -1, 0, 1}, streams{5, 6, 7, 8};
  const auto counts = [&](const SamplingRule& rule) {
    const size_t sampled = edge_sampler.Sample(From(*partition), rows, streams, rule, kSomeKey);
    EXPECT_LE(sampled, MaxSampledEdges(partition->csc(0), rows, rule));
    EXPECT_EQ(edge_sampler.slots().size(), sampled);
    EXPECT_EQ(edge_sampler.arrival_keys().size(), rule.direction == Direction::kOut ? sampled : 0);
    return std::vector<uint32_t>(edge_sampler.counts().begin(), edge_sampler.counts().end());
  };
  using Numbers = std::vector<uint32_t>;
  for (bool arrivals : {false, true}) {
    EXPECT_EQ(counts(Uniform(-1, false, arrivals)), (Numbers{3, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(-1, true, arrivals)), (Numbers{3, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(0, false, arrivals)), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(counts(Uniform(0, true, arrivals)), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(counts(Uniform(2, false, arrivals)), (Numbers{2, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(1000000, false, arrivals)), (Numbers{3, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(5, true, arrivals)), (Numbers{5, 0, 0, 5}));
  }
  EXPECT_EQ(edge_sampler.Sample(From(*partition), {}, {}, Uniform(3), kSomeKey), 0u);
  EXPECT_THROW(counts(Uniform(-2)), Error);
}

TEST(UniformSampling, MemoryDependsOnTheRowAndNotOnTheFanout) {
  constexpr uint64_t kDegree = (uint64_t{1} << 20) + 7;  // draws are recorded in a hash table
  const auto partition = Star(kDegree).Build();
  EdgeSampler edge_sampler;
  const std::vector<int64_t> rows{0}, streams{5};
  EXPECT_EQ(
      edge_sampler.Sample(From(*partition), rows, streams, Uniform(INT_MAX, false, true), kSomeKey),
      kDegree);
}

// Returns a graph with rows of all sizes, including a hub.
TinyGraph Mixed() {
  TinyGraph graph;
  graph.num_sources = 5000;
  CounterRng random(1);
  for (uint64_t degree : {0, 1, 3, 10, 11, 40, 3000, 0, 25, 32, 33, 64, 65, 200}) {
    auto& row = graph.rows.emplace_back();
    for (uint64_t i = 0; i < degree; i++) row.push_back(random.Below(5000));
  }
  return graph;
}

// Returns the numbers that Floyd's algorithm draws, in its plainest form.
std::vector<uint64_t> PlainFloyd(CounterRng rng, uint64_t n, uint64_t count) {
  std::set<uint64_t> taken;
  std::vector<uint64_t> drawn;
  for (uint64_t j = n - count; j < n; j++) {
    const uint64_t candidate = rng.Below(j + 1);
    drawn.push_back(taken.insert(candidate).second ? candidate : j);
    taken.insert(drawn.back());
  }
  return drawn;
}

TEST(UniformSampling, DrawsAreThoseOfFloydsAlgorithm) {
  DistinctDraws draws;
  for (uint64_t n : {1, 2, 63, 64, 65, 300, 5000, 1 << 20, (1 << 20) + 1, 3 << 20}) {
    for (uint64_t count : {1, 2, 25, 64, 65, 300, 5000}) {
      if (count > n) continue;
      CounterRng rng(n * 7919 + count);
      const std::vector<uint64_t> expected = PlainFloyd(rng, n, count);
      std::vector<uint64_t> drawn(count);
      draws.Floyd(rng, n, count, drawn.data());
      EXPECT_EQ(drawn, expected) << count << " of " << n;
    }
  }
}

TEST(UniformSampling, EdgeSamplerEqualsUniformSampler) {
  for (bool wide : {false, true}) {
    TinyGraph graph = Mixed();
    graph.wide = wide;
    const auto partition = graph.Build();
    std::vector<int64_t> rows(graph.rows.size()), streams;
    std::iota(rows.begin(), rows.end(), 0);
    for (int64_t row : rows) streams.push_back(row * 31 + 5);
    for (int fanout : {-1, 0, 1, 10, 25, 63, 64, 255, 256, 257, 2999}) {
      for (bool replace : {false, true}) {
        const SamplingRule rule = Uniform(fanout, replace);
        UniformSampler sampler;
        const size_t expected = sampler.Plan(partition->csc(0), rows, streams, rule, 99, {});
        std::vector<int64_t> neighbors(expected);
        std::vector<uint64_t> positions(expected);
        sampler.Sample(neighbors.data(), positions.data());
        std::vector<int64_t> without_positions(expected);
        sampler.Sample(without_positions.data(), nullptr);
        EXPECT_EQ(without_positions, neighbors);
        partition->csc(0).indices.Visit([&](auto indices) {
          for (size_t k = 0; k < expected; k++) {
            ASSERT_EQ(neighbors[k], static_cast<int64_t>(indices[positions[k]]));
          }
        });
        EdgeSampler edge_sampler;
        ASSERT_EQ(edge_sampler.Sample(From(*partition), rows, streams, rule, 99), expected);
        EXPECT_TRUE(std::ranges::equal(edge_sampler.slots(), positions));
      }
    }
  }
}

TEST(UniformSampling, ARowsSampleDependsOnItsStreamAndTheKeyOnly) {
  const auto partition = Mixed().Build();
  const EdgeSet exclude(std::vector<int64_t>{70, 75});
  for (bool arrivals : {false, true}) {
    for (bool replace : {false, true}) {
      const SamplingRule rule = Uniform(10, replace, arrivals);
      const auto one = [&](EdgeSampler& edge_sampler, std::vector<int64_t> rows,
                           std::vector<int64_t> streams) {
        edge_sampler.Sample(From(*partition, &exclude), rows, streams, rule, kSomeKey);
        return OutcomesOf(edge_sampler, 0).back();
      };
      EdgeSampler fresh, used;
      const Outcome alone = one(fresh, {6}, {123});
      EXPECT_EQ(one(used, {5, 6, 3, 8, 6}, {1, 2, 3, 4, 123}), alone);
      EXPECT_EQ(one(used, {6, 6}, {124, 123}), alone);
      EXPECT_NE(one(used, {6}, {124}), alone);
    }
  }
}

void ExpectHubIsUniform(uint64_t degree, int fanout, bool replace, bool arrivals, size_t trials,
                        size_t buckets) {
  const auto partition = Star(degree).Build();
  const std::vector<int64_t> rows(trials, 0);
  std::vector<int64_t> streams(trials);
  std::iota(streams.begin(), streams.end(), 0);
  EdgeSampler edge_sampler;
  ASSERT_EQ(edge_sampler.Sample(From(*partition), rows, streams, Uniform(fanout, replace, arrivals),
                                kSomeKey),
            trials * static_cast<size_t>(fanout));
  std::vector<uint64_t> hits(buckets);
  for (const Outcome& outcome : OutcomesOf(edge_sampler, 0)) {
    for (uint64_t slot : outcome) hits[slot * buckets / degree]++;
    if (!replace) {
      ASSERT_EQ(std::set<uint64_t>(outcome.begin(), outcome.end()).size(), outcome.size());
    }
  }
  const double share = static_cast<double>(fanout) / static_cast<double>(degree);
  ExpectUniform(hits, replace ? 1 : 1 - share, "hub");
}

TEST(UniformSampling, HubsAreSampledUniformly) {
  for (bool arrivals : {false, true}) {
    ExpectHubIsUniform(50000, 10, false, arrivals, 50000, 50000);
    ExpectHubIsUniform(50000, 10, true, arrivals, 50000, 50000);
    ExpectHubIsUniform(50000, 20000, false, arrivals, 50, 50000);
  }
}

// Draws from these hubs are recorded in a hash table instead of a byte per edge (distinct_draws.h).
TEST(UniformSampling, HubsWithHashedDrawsAreSampledUniformly) {
  for (bool arrivals : {false, true}) {
    ExpectHubIsUniform(3 << 20, 25, false, arrivals, 20000, 1000);
    ExpectHubIsUniform(3 << 20, 100000, false, arrivals, 5, 1000);
  }
}

}  // namespace
}  // namespace graphd::testing
