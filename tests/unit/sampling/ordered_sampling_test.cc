// SPDX-License-Identifier: Apache-2.0
// Tests top-k and temporal sampling.
#include <gtest/gtest.h>

#include <limits>

#include "sampling/index/edge_index.h"
#include "sampling/rule_traits.h"
#include "tests/unit/sampling/tiny_partition.h"
#include "tests/unit/sampling/trials.h"

namespace graphd::testing {
namespace {

// A row of edges with a value for each slot. Edge rows are in the reverse order of slots.
class OrderedStar {
 public:
  template <class T>
  explicit OrderedStar(const std::vector<T>& values, std::vector<int64_t> exclude = {})
      : exclude_(exclude) {
    TinyGraph graph = Star(values.size());
    for (size_t i = values.size(); i-- > 0;) graph.edge_rows.push_back(i);
    graph.features.emplace_back("value", Column(std::vector<T>(values.rbegin(), values.rend())));
    partition_ = graph.Build();
    order_.emplace(BuildEdgeIndex(*partition_, {EdgeIndexKind::kOrder, false, 0, "value"}),
                   partition_->csc(0));
  }
  EdgeSource source() const { return {&partition_->csc(0), nullptr, &*order_, &exclude_}; }

  Outcome Sample(SamplingMethod method, int fanout, bool largest = true, SeedTimes times = {},
                 bool inclusive = false) const {
    SamplingRule rule;
    rule.method = method;
    rule.fanout = fanout;
    rule.largest = largest;
    rule.inclusive = inclusive;
    rule.direction = Direction::kOut;
    EdgeSampler edge_sampler;
    const std::vector<int64_t> rows{0}, streams{9};
    edge_sampler.Sample(source(), rows, streams, rule, kSomeKey, times);
    EXPECT_TRUE(std::ranges::is_sorted(edge_sampler.arrival_keys()));
    return OutcomesOf(edge_sampler, 0)[0];
  }
  Outcome Top(int fanout, bool largest = true) const {
    return Sample(SamplingMethod::kTopK, fanout, largest);
  }
  template <class T>
  Outcome Recent(int fanout, T time, bool inclusive = false) const {
    return Sample(SamplingMethod::kTemporalRecent, fanout, true, std::span<const T>(&time, 1),
                  inclusive);
  }

 private:
  EdgeSet exclude_;
  std::shared_ptr<const Partition> partition_;
  std::optional<OrderIndex> order_;
};

TEST(TopK, BestEdgesComeFirstAndTiesAreOrderedByEdgeRow) {
  const OrderedStar star(std::vector<float>{3, 9, -1, 9, 4, 9, -1});
  EXPECT_EQ(star.Top(1), (Outcome{5}));  // the lowest edge row of slots 1, 3 and 5
  EXPECT_EQ(star.Top(2), (Outcome{5, 3}));
  EXPECT_EQ(star.Top(5), (Outcome{5, 3, 1, 4, 0}));
  EXPECT_EQ(star.Top(-1), (Outcome{5, 3, 1, 4, 0, 6, 2}));
  EXPECT_EQ(star.Top(100), star.Top(-1));
  EXPECT_EQ(star.Top(0), (Outcome{}));
  EXPECT_EQ(star.Top(1, false), (Outcome{6}));
  EXPECT_EQ(star.Top(3, false), (Outcome{6, 2, 0}));
  EXPECT_EQ(star.Top(-1, false), (Outcome{6, 2, 0, 4, 5, 3, 1}));
}

TEST(TopK, ExcludedEdgesAreSkipped) {
  const OrderedStar star(std::vector<int32_t>{3, 9, -1, 9, 4, 9, -1}, {1, 2});  // slots 5 and 4
  EXPECT_EQ(star.Top(3), (Outcome{3, 1, 0}));
  EXPECT_EQ(star.Top(-1, false), (Outcome{6, 2, 0, 3, 1}));
}

TEST(TopK, ManyEqualValuesAreOrderedByEdgeRow) {
  std::vector<uint8_t> values(5000, 1);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = 2;
  const OrderedStar star(values);
  // Slots 0, 3, .. 4998 have value 2; the highest slot has the lowest edge row.
  EXPECT_EQ(star.Top(3), (Outcome{4998, 4995, 4992}));
  const Outcome most = star.Top(1667 + 2);
  EXPECT_EQ(most[1666], 0u);
  EXPECT_EQ(most[1667], 4999u);
  EXPECT_EQ(most[1668], 4997u);
}

TEST(TopK, EveryDTypeIsOrdered) {
  const Outcome expected{2, 0, 1};
  EXPECT_EQ(OrderedStar(std::vector<double>{1, -5, 1e300}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<int8_t>{1, -5, 100}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<int16_t>{1, -5, 100}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<int64_t>{1, INT64_MIN, INT64_MAX}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<uint16_t>{1, 0, 65535}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<uint32_t>{1, 0, UINT32_MAX}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<uint64_t>{1, 0, UINT64_MAX}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<bool>{false, false, true}).Top(-1), (Outcome{2, 1, 0}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(OrderedStar(std::vector<float>{0, -infinity, infinity}).Top(-1), expected);
  EXPECT_EQ(OrderedStar(std::vector<float>{-0.0f, 0.0f}).Top(-1), (Outcome{1, 0}));
}

TEST(TemporalRecent, TheLatestEdgesBeforeTheSeedComeFirst) {
  const OrderedStar star(std::vector<int64_t>{30, 10, 20, 20, 40});
  EXPECT_EQ(star.Recent<int64_t>(2, 40), (Outcome{0, 3}));
  EXPECT_EQ(star.Recent<int64_t>(2, 40, true), (Outcome{4, 0}));
  EXPECT_EQ(star.Recent<int64_t>(-1, 30), (Outcome{3, 2, 1}));
  EXPECT_EQ(star.Recent<int64_t>(10, 10), (Outcome{}));
  EXPECT_EQ(star.Recent<int64_t>(10, 10, true), (Outcome{1}));
  EXPECT_EQ(star.Recent<int64_t>(-1, INT64_MAX), (Outcome{4, 0, 3, 2, 1}));
  const OrderedStar excluded(std::vector<int64_t>{30, 10, 20, 20, 40}, {4, 1});  // slots 0, 3
  EXPECT_EQ(excluded.Recent<int64_t>(2, 40), (Outcome{2, 1}));
}

TEST(TemporalRecent, TimesOfDifferentTypesAreComparedExactly) {
  constexpr int64_t kLarge = (int64_t{1} << 60) + 1;  // not representable as a double
  const OrderedStar integers(std::vector<int64_t>{kLarge - 1, kLarge, kLarge + 1});
  const auto between = static_cast<double>(int64_t{1} << 60);
  EXPECT_EQ(integers.Recent(-1, between), (Outcome{}));
  EXPECT_EQ(integers.Recent(-1, between, true), (Outcome{0}));
  EXPECT_EQ(integers.Recent(-1, kLarge), (Outcome{0}));
  EXPECT_EQ(integers.Recent(-1, kLarge, true), (Outcome{1, 0}));
  const OrderedStar doubles(std::vector<double>{-0.5, 0.5, 2});
  EXPECT_EQ(doubles.Recent<int64_t>(-1, 0), (Outcome{0}));
  EXPECT_EQ(doubles.Recent<int64_t>(-1, 2), (Outcome{1, 0}));
  EXPECT_EQ(doubles.Recent<int64_t>(-1, 2, true), (Outcome{2, 1, 0}));
  const OrderedStar unsigned_times(std::vector<uint64_t>{0, 5, UINT64_MAX});
  EXPECT_EQ(unsigned_times.Recent<int64_t>(-1, -1), (Outcome{}));
  EXPECT_EQ(unsigned_times.Recent<int64_t>(-1, INT64_MAX), (Outcome{1, 0}));
  EXPECT_EQ(unsigned_times.Recent(-1, 1e30), (Outcome{2, 1, 0}));
}

TEST(TemporalRecent, ASeedTimeOfNaNHasNoEdges) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const OrderedStar star(std::vector<double>{1, 2});
  EXPECT_EQ(star.Recent(-1, nan), (Outcome{}));
  EXPECT_EQ(star.Recent(-1, nan, true), (Outcome{}));
  EXPECT_EQ(star.Recent(-1, std::numeric_limits<double>::infinity()), (Outcome{1, 0}));
}

SamplingRule TemporalUniform(int fanout, bool replace, bool arrivals) {
  SamplingRule rule;
  rule.method = SamplingMethod::kTemporalUniform;
  rule.fanout = fanout;
  rule.replace = replace;
  rule.direction = arrivals ? Direction::kOut : Direction::kIn;
  return rule;
}

TEST(TemporalUniform, EveryEarlierEdgeIsEquallyLikely) {
  // Slots 0, 2, 3, 5, 6 and 7 are earlier than 50.
  const std::vector<float> values{1, 50, 3, 1, 77, 20, 49, 2};
  const OrderedStar all(values), some(values, {7, 2});  // slots 0 and 5 excluded
  const std::vector<int64_t> times(kDistributionTrials, 50);
  for (bool arrivals : {false, true}) {
    for (int fanout : {2, 3}) {
      ExpectDistribution(CountTrials(all.source(), TemporalUniform(fanout, false, arrivals),
                                     kDistributionTrials, true, std::span(times)),
                         UniformSets({0, 2, 3, 5, 6, 7}, static_cast<size_t>(fanout)), "6 of 8");
      ExpectDistribution(CountTrials(some.source(), TemporalUniform(fanout, false, arrivals),
                                     kDistributionTrials, true, std::span(times)),
                         UniformSets({2, 3, 6, 7}, static_cast<size_t>(fanout)), "4 of 8");
    }
    ExpectDistribution(CountTrials(some.source(), TemporalUniform(2, true, arrivals),
                                   kDistributionTrials, false, std::span(times)),
                       Successive({0, 0, 1, 1, 0, 0, 1, 1}, 2, true), "with replacement");
    EXPECT_EQ(CountTrials(all.source(), TemporalUniform(-1, false, arrivals), kDistributionTrials,
                          true, std::span(times)),
              (Counts{{{0, 2, 3, 5, 6, 7}, kDistributionTrials}}));
  }
}

TEST(TemporalUniform, EachRowHasItsOwnTime) {
  const OrderedStar star(std::vector<int32_t>{5, 6, 7});
  const std::vector<int64_t> rows{0, -1, 0, 0}, streams{1, 2, 3, 4}, times{6, 100, 5, 100};
  EdgeSampler edge_sampler;
  edge_sampler.Sample(star.source(), rows, streams, TemporalUniform(9, false, false), kSomeKey,
                      std::span(times));
  EXPECT_EQ(OutcomesOf(edge_sampler, 0), (std::vector<Outcome>{{0}, {}, {}, {0, 1, 2}}));
}

TEST(OrderedSampling, InvalidRulesAreRefused) {
  const OrderedStar star(std::vector<int32_t>{5, 6, 7});
  EdgeSource source = star.source();
  SamplingRule rule;
  rule.replace = true;
  for (SamplingMethod method :
       {SamplingMethod::kTopK, SamplingMethod::kTemporalRecent, SamplingMethod::kLabor}) {
    rule.method = method;
    EXPECT_THROW(CheckRule(source, rule), Error) << SamplingMethodName(method);
  }
  rule.replace = false;
  source.order = nullptr;
  for (SamplingMethod method :
       {SamplingMethod::kTopK, SamplingMethod::kTemporalRecent, SamplingMethod::kTemporalUniform}) {
    rule.method = method;
    EXPECT_THROW(CheckRule(source, rule), Error) << SamplingMethodName(method);
  }
  rule.method = static_cast<SamplingMethod>(6);
  EXPECT_THROW(CheckRule(source, rule), Error);
}

}  // namespace
}  // namespace graphd::testing
