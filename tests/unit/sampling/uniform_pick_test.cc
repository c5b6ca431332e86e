// SPDX-License-Identifier: Apache-2.0
// Uniform picks: every set, or sequence, is equally likely.
#include <gtest/gtest.h>

#include <climits>

#include <set>

#include "sampling/uniform.h"
#include "tests/unit/sampling/tiny_partition.h"
#include "tests/unit/sampling/trials.h"

namespace graphd::testing {
namespace {

PickParams Uniform(int fanout, bool replace = false, bool races = false) {
  PickParams params;
  params.fanout = fanout;
  params.replace = replace;
  params.races = races;
  params.key = 7;
  return params;
}

PickSource From(const Partition& partition, const EdgeSet* exclude = nullptr) {
  return {&partition.csc(0), nullptr, nullptr, exclude};
}

TEST(UniformPick, EverySetIsEquallyLikely) {
  const auto partition = Star(6).Build();
  for (int fanout = 1; fanout <= 5; fanout++) {
    ExpectDistribution(CountTrials(From(*partition), Uniform(fanout), kPickTrials, true),
                       UniformSets({0, 1, 2, 3, 4, 5}, static_cast<size_t>(fanout)), "sets of 6");
  }
}

TEST(UniformPick, EverySequenceWithReplacementIsEquallyLikely) {
  const auto partition = Star(4).Build();
  for (bool races : {false, true}) {
    ExpectDistribution(CountTrials(From(*partition), Uniform(3, true, races), kPickTrials, false),
                       Successive({1, 1, 1, 1}, 3, true), "sequences of 4, with replacement");
  }
}

TEST(UniformPick, WithRacesEverySequenceIsEquallyLikely) {
  for (uint64_t degree : {3, 4, 9}) {  // all of it, a shuffle, and draws
    const auto partition = Star(degree).Build();
    ExpectDistribution(CountTrials(From(*partition), Uniform(3, false, true), kPickTrials, false),
                       Successive(std::vector<double>(degree, 1), 3, false), "races");
  }
}

TEST(UniformPick, ExcludedEdgesLeaveTheOthersEquallyLikely) {
  TinyGraph graph = Star(7);
  graph.edge_rows = {6, 5, 4, 3, 2, 1, 0};
  const auto partition = graph.Build();
  const EdgeSet exclude(std::vector<int64_t>{6, 3, 50});  // slots 0 and 3
  for (bool races : {false, true}) {
    for (int fanout : {2, 3, 4}) {
      ExpectDistribution(
          CountTrials(From(*partition, &exclude), Uniform(fanout, false, races), kPickTrials, true),
          UniformSets({1, 2, 4, 5, 6}, static_cast<size_t>(fanout)), "5 of 7 eligible");
    }
    ExpectDistribution(
        CountTrials(From(*partition, &exclude), Uniform(2, true, races), kPickTrials, false),
        Successive({0, 1, 1, 0, 1, 1, 1}, 2, true), "5 of 7 eligible, with replacement");
  }
}

TEST(UniformPick, AlmostAllOfARowMayBeExcluded) {
  const auto partition = Star(100).Build();
  std::vector<int64_t> rows(98);
  std::iota(rows.begin(), rows.end(), 0);
  const EdgeSet exclude(rows);
  for (bool races : {false, true}) {
    const auto source = From(*partition, &exclude);
    ExpectDistribution(CountTrials(source, Uniform(1, false, races), 20000, false),
                       {{{98}, 0.5}, {{99}, 0.5}}, "2 of 100, one");
    EXPECT_EQ(CountTrials(source, Uniform(10, false, races), 100, true), (Counts{{{98, 99}, 100}}));
    ExpectDistribution(CountTrials(source, Uniform(2, true, races), 20000, false),
                       {{{98, 98}, 0.25}, {{98, 99}, 0.25}, {{99, 98}, 0.25}, {{99, 99}, 0.25}},
                       "2 of 100, with replacement");
  }
}

TEST(UniformPick, NothingEligibleGivesNothing) {
  const auto partition = Star(5).Build();
  const EdgeSet exclude(std::vector<int64_t>{0, 1, 2, 3, 4});
  for (bool races : {false, true}) {
    for (bool replace : {false, true}) {
      for (int fanout : {-1, 0, 1, 3, 5, 100}) {
        EXPECT_EQ(
            CountTrials(From(*partition, &exclude), Uniform(fanout, replace, races), 5, false),
            (Counts{{{}, 5}}));
      }
    }
  }
}

TEST(UniformPick, FanoutsAtTheEdges) {
  TinyGraph graph;
  graph.num_sources = 9;
  graph.rows = {{}, {4}, {1, 2, 3}};
  const auto partition = graph.Build();
  EdgePicker picker;
  const std::vector<int64_t> rows{2, -1, 0, 1}, streams{5, 6, 7, 8};
  const auto counts = [&](const PickParams& params) {
    const size_t picked = picker.Pick(From(*partition), rows, streams, params);
    EXPECT_LE(picked, MaxPicks(partition->csc(0), rows, params));
    EXPECT_EQ(picker.slots().size(), picked);
    EXPECT_EQ(picker.races().size(), params.races ? picked : 0);
    return std::vector<uint32_t>(picker.counts().begin(), picker.counts().end());
  };
  using Numbers = std::vector<uint32_t>;
  for (bool races : {false, true}) {
    EXPECT_EQ(counts(Uniform(-1, false, races)), (Numbers{3, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(-1, true, races)), (Numbers{3, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(0, false, races)), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(counts(Uniform(0, true, races)), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(counts(Uniform(2, false, races)), (Numbers{2, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(1000000, false, races)), (Numbers{3, 0, 0, 1}));
    EXPECT_EQ(counts(Uniform(5, true, races)), (Numbers{5, 0, 0, 5}));
  }
  EXPECT_EQ(picker.Pick(From(*partition), {}, {}, Uniform(3)), 0u);
  EXPECT_THROW(counts(Uniform(-2)), Error);
}

TEST(UniformPick, MemoryFollowsTheRowAndNotTheFanout) {
  constexpr uint64_t kDegree = (uint64_t{1} << 20) + 7;  // what was drawn is hashed
  const auto partition = Star(kDegree).Build();
  EdgePicker picker;
  const std::vector<int64_t> rows{0}, streams{5};
  EXPECT_EQ(picker.Pick(From(*partition), rows, streams, Uniform(INT_MAX, false, true)), kDegree);
}

// A graph with rows of all sizes, hubs among them.
TinyGraph Mixed() {
  TinyGraph graph;
  graph.num_sources = 5000;
  CounterRng random(1);
  for (uint64_t degree : {0, 1, 3, 10, 11, 40, 3000, 0, 25}) {
    auto& row = graph.rows.emplace_back();
    for (uint64_t i = 0; i < degree; i++) row.push_back(random.Below(5000));
  }
  return graph;
}

TEST(UniformPick, PicksWhatUniformSamplerPicks) {
  for (bool wide : {false, true}) {
    TinyGraph graph = Mixed();
    graph.wide = wide;
    const auto partition = graph.Build();
    std::vector<int64_t> rows(graph.rows.size()), streams;
    std::iota(rows.begin(), rows.end(), 0);
    for (int64_t row : rows) streams.push_back(row * 31 + 5);
    for (int fanout : {-1, 0, 1, 10, 25, 2999}) {
      for (bool replace : {false, true}) {
        UniformSampler sampler;
        const size_t expected =
            sampler.Plan(partition->csc(0), rows, streams, {fanout, replace, 99}, {});
        std::vector<int64_t> neighbors(expected);
        std::vector<uint64_t> positions(expected);
        sampler.Pick(neighbors.data(), positions.data());
        EdgePicker picker;
        PickParams params = Uniform(fanout, replace);
        params.key = 99;
        ASSERT_EQ(picker.Pick(From(*partition), rows, streams, params), expected);
        EXPECT_TRUE(std::ranges::equal(picker.slots(), positions));
      }
    }
  }
}

TEST(UniformPick, ARowsPicksDependOnItsStreamAndTheKeyOnly) {
  const auto partition = Mixed().Build();
  const EdgeSet exclude(std::vector<int64_t>{70, 75});
  for (bool races : {false, true}) {
    for (bool replace : {false, true}) {
      const PickParams params = Uniform(10, replace, races);
      const auto one = [&](EdgePicker& picker, std::vector<int64_t> rows,
                           std::vector<int64_t> streams) {
        picker.Pick(From(*partition, &exclude), rows, streams, params);
        return OutcomesOf(picker, 0).back();
      };
      EdgePicker fresh, used;
      const Outcome alone = one(fresh, {6}, {123});
      EXPECT_EQ(one(used, {5, 6, 3, 8, 6}, {1, 2, 3, 4, 123}), alone);
      EXPECT_EQ(one(used, {6, 6}, {124, 123}), alone);
      EXPECT_NE(one(used, {6}, {124}), alone);
    }
  }
}

void ExpectHubIsUniform(uint64_t degree, int fanout, bool replace, bool races, size_t trials,
                        size_t buckets) {
  const auto partition = Star(degree).Build();
  const std::vector<int64_t> rows(trials, 0);
  std::vector<int64_t> streams(trials);
  std::iota(streams.begin(), streams.end(), 0);
  EdgePicker picker;
  ASSERT_EQ(picker.Pick(From(*partition), rows, streams, Uniform(fanout, replace, races)),
            trials * static_cast<size_t>(fanout));
  std::vector<uint64_t> hits(buckets);
  for (const Outcome& outcome : OutcomesOf(picker, 0)) {
    for (uint64_t slot : outcome) hits[slot * buckets / degree]++;
    if (!replace) {
      ASSERT_EQ(std::set<uint64_t>(outcome.begin(), outcome.end()).size(), outcome.size());
    }
  }
  const double share = static_cast<double>(fanout) / static_cast<double>(degree);
  ExpectUniform(hits, replace ? 1 : 1 - share, "hub");
}

TEST(UniformPick, HubsArePickedUniformly) {
  for (bool races : {false, true}) {
    ExpectHubIsUniform(50000, 10, false, races, 50000, 50000);
    ExpectHubIsUniform(50000, 10, true, races, 50000, 50000);
    ExpectHubIsUniform(50000, 20000, false, races, 50, 50000);
  }
}

TEST(UniformPick, HubsBeyondTheTrackerArePickedUniformly) {
  for (bool races : {false, true}) {
    ExpectHubIsUniform(3 << 20, 25, false, races, 20000, 1000);
    ExpectHubIsUniform(3 << 20, 100000, false, races, 5, 1000);
  }
}

}  // namespace
}  // namespace graphd::testing
