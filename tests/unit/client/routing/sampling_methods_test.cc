// SPDX-License-Identifier: Apache-2.0
// Tests every sampling rule, in both directions, on a typed graph in three partitions: the results
// match the known edges and are the same over every transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/index.h"
#include "base/rng.h"
#include "graphd/samplers.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/client/sampling_graph.h"

namespace graphd::testing {
namespace {

const std::vector<int64_t> kNoEdges;

// Returns a rule for every method with every kind of column that it takes. The caller sets edge
// type and direction.
std::vector<SamplingRule> EveryRule() {
  std::vector<SamplingRule> rules;
  const auto add = [&](SamplingMethod method, int fanout, bool replace, const char* column,
                       bool largest = true, bool inclusive = false) {
    rules.push_back({0, Direction::kIn, method, fanout, replace, column, largest, inclusive});
  };
  for (int fanout : {kAllNeighbors, 0, 1, 3, 1000}) {
    add(SamplingMethod::kUniform, fanout, false, "");
    add(SamplingMethod::kWeighted, fanout, false, "w");
    add(SamplingMethod::kWeighted, fanout, false, "mask");
    add(SamplingMethod::kLabor, fanout, false, "");
    add(SamplingMethod::kLabor, fanout, false, "w");
    for (const char* column : {"w", "mask", "time", "when"}) {
      for (bool largest : {true, false}) add(SamplingMethod::kTopK, fanout, false, column, largest);
    }
    for (const char* column : {"time", "when"}) {
      for (bool inclusive : {true, false}) {
        add(SamplingMethod::kTemporalUniform, fanout, false, column, true, inclusive);
        add(SamplingMethod::kTemporalRecent, fanout, false, column, true, inclusive);
      }
    }
  }
  add(SamplingMethod::kUniform, 6, true, "");
  add(SamplingMethod::kWeighted, 6, true, "w");
  add(SamplingMethod::kWeighted, 6, true, "mask");
  add(SamplingMethod::kTemporalUniform, 6, true, "time");
  add(SamplingMethod::kTemporalUniform, 6, true, "when", true, true);
  return rules;
}

double Value(const KnownEdge& edge, const std::string& column) {
  if (column == "w") return edge.w;
  if (column == "mask") return edge.mask;
  return column == "time" ? static_cast<double>(edge.time) : edge.when;
}

class SamplingMethods : public ServedSamplingGraph {
 protected:
  void SetUp() override {
    CounterRng random(3);
    for (size_t t = 0; t < 2; t++) {
      const int64_t count = alone_->num_nodes(static_cast<NodeTypeId>(t));
      for (int64_t i = 0; i < count + 20; i++) {  // all nodes, some of them twice
        ids_[t].push_back(i % count);
        streams_[t].push_back(i);
        times_[t].push_back(static_cast<int64_t>(random.Below(44)) - 7);
        whens_[t].push_back(static_cast<double>(random.Below(44)) / 4 - 0.5);
      }
      seeds_.push_back({ids_[t], streams_[t], times_[t], whens_[t]});
    }
    exclude_.resize(4);
    for (size_t e = 1; e < 4; e++) {
      for (const KnownEdge& edge : known_[e]) {
        if (Mix64(static_cast<uint64_t>(edge.id)) % 4 == 0) exclude_[e].push_back(edge.id);
      }
      std::reverse(exclude_[e].begin(), exclude_[e].end());
    }
  }
  static DistGraph Connected(Transport transport) {
    return DistGraph(Initialize(served_->TrainerOptions(transport)), "hubs");
  }
  // Returns every rule for every edge type that has edges.
  static std::vector<SamplingRule> RulesOf(Direction direction) {
    std::vector<SamplingRule> all;
    for (EdgeTypeId e = 1; e < 4; e++) {
      for (SamplingRule rule : EveryRule()) {
        rule.etype = e;
        rule.direction = direction;
        all.push_back(rule);
      }
    }
    return all;
  }
  std::vector<Neighbors> Hop(const DistGraph& graph, std::span<const SamplingRule> rules,
                             bool excluding) const {
    HopOptions options{77, 1, true, {}};
    if (excluding) options.exclude = exclude_;
    return SampleHop(graph, seeds_, rules, options);
  }
  void ExpectRight(const SamplingRule& rule, const Neighbors& result, bool excluding) const;

  std::vector<int64_t> ids_[2], streams_[2], times_[2];
  std::vector<double> whens_[2];
  std::vector<HopSeeds> seeds_;
  std::vector<std::vector<int64_t>> exclude_;
};

void SamplingMethods::ExpectRight(const SamplingRule& rule, const Neighbors& result,
                                  bool excluding) const {
  const Schema& schema = alone_->schema();
  const bool in = rule.direction == Direction::kIn;
  const size_t t = Index(in ? schema.dst_type(rule.etype) : schema.src_type(rule.etype));
  SCOPED_TRACE(::testing::Message()
               << "etype " << rule.etype << (in ? " in" : " out") << " method "
               << static_cast<int>(rule.method) << " fanout " << rule.fanout << " replace "
               << rule.replace << " column '" << rule.column << "' largest " << rule.largest
               << " inclusive " << rule.inclusive << " excluding " << excluding);
  ASSERT_EQ(result.indptr.size(), ids_[t].size() + 1);
  ASSERT_EQ(result.neighbors.size(), Index(result.indptr.back()));
  ASSERT_EQ(result.edge_ids.size(), result.neighbors.size());
  for (size_t i = 0; i < ids_[t].size(); i++) {
    auto eligible = Eligible(known_[Index(rule.etype)], rule, ids_[t][i], times_[t][i],
                             whens_[t][i], excluding ? exclude_[Index(rule.etype)] : kNoEdges);
    std::vector<int64_t> allowed, got;
    for (const KnownEdge& edge : eligible) allowed.push_back(edge.id);
    for (size_t k = Index(result.indptr[i]); k < Index(result.indptr[i + 1]); k++) {
      const int64_t id = result.edge_ids[k];
      ASSERT_TRUE(std::binary_search(allowed.begin(), allowed.end(), id)) << "edge " << id;
      const KnownEdge& edge = known_[Index(rule.etype)][Index(id)];
      ASSERT_EQ(result.neighbors[k], in ? edge.src : edge.dst);
      got.push_back(id);
    }
    const size_t fanout = rule.fanout < 0 ? SIZE_MAX : Index(rule.fanout);
    if (rule.replace) {
      ASSERT_EQ(got.size(), allowed.empty() ? 0 : fanout) << "seed " << ids_[t][i];
      continue;
    }
    ASSERT_EQ(got.size(), std::min(fanout, allowed.size())) << "seed " << ids_[t][i];
    ASSERT_EQ(std::set<int64_t>(got.begin(), got.end()).size(), got.size())
        << "an edge was sampled twice";
    if (rule.method != SamplingMethod::kTopK && rule.method != SamplingMethod::kTemporalRecent)
      continue;
    const double sign = rule.largest ? -1 : 1;
    std::stable_sort(eligible.begin(), eligible.end(), [&](const auto& a, const auto& b) {
      return sign * Value(a, rule.column) < sign * Value(b, rule.column);
    });
    for (size_t k = 0; k < got.size(); k++) ASSERT_EQ(got[k], eligible[k].id) << "place " << k;
  }
}

TEST_F(SamplingMethods, EveryRuleGivesTheEligibleEdgesOnly) {
  for (Direction direction : {Direction::kIn, Direction::kOut}) {
    const auto rules = RulesOf(direction);
    for (bool excluding : {false, true}) {
      const auto results = Hop(*alone_, rules, excluding);
      for (size_t i = 0; i < rules.size(); i++) ExpectRight(rules[i], results[i], excluding);
    }
  }
}

TEST_F(SamplingMethods, EveryRuleGivesTheSameEdgesOverEveryTransport) {
  for (Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
    const DistGraph graph = Connected(transport);
    for (Direction direction : {Direction::kIn, Direction::kOut}) {
      const auto rules = RulesOf(direction);
      for (bool excluding : {false, true}) {
        // Sends them in pieces, because the number of rules in a message is limited.
        for (size_t begin = 0; begin < rules.size(); begin += 50) {
          const std::span some(rules.data() + begin, std::min<size_t>(50, rules.size() - begin));
          const auto expected = Hop(*alone_, some, excluding);
          const auto results = Hop(graph, some, excluding);
          for (size_t i = 0; i < some.size(); i++) {
            ASSERT_EQ(results[i].indptr, expected[i].indptr) << "rule " << begin + i;
            ASSERT_EQ(results[i].neighbors, expected[i].neighbors) << "rule " << begin + i;
            ASSERT_EQ(results[i].edge_ids, expected[i].edge_ids) << "rule " << begin + i;
          }
        }
      }
    }
  }
}

TEST_F(SamplingMethods, ASeedsSampleDoesNotDependOnTheOtherSeeds) {
  for (Direction direction : {Direction::kIn, Direction::kOut}) {
    const auto rules = RulesOf(direction);
    const auto all = Hop(*alone_, rules, true);
    for (size_t i = 0; i < ids_[0].size(); i += 9) {
      std::vector<HopSeeds> one;
      for (size_t t = 0; t < 2; t++) {
        one.push_back({std::span(ids_[t]).subspan(i, 1), std::span(streams_[t]).subspan(i, 1),
                       std::span(times_[t]).subspan(i, 1), std::span(whens_[t]).subspan(i, 1)});
      }
      const auto alone = SampleHop(*alone_, one, rules, {77, 1, true, exclude_});
      for (size_t k = 0; k < rules.size(); k++) {
        const auto row =
            std::span(all[k].edge_ids)
                .subspan(Index(all[k].indptr[i]), Index(all[k].indptr[i + 1] - all[k].indptr[i]));
        ASSERT_TRUE(
            std::equal(row.begin(), row.end(), alone[k].edge_ids.begin(), alone[k].edge_ids.end()));
      }
    }
  }
}

TEST_F(SamplingMethods, BlocksAreTheSameOverEveryTransport) {
  std::vector<NeighborSampler> samplers;
  for (const SamplingRule& rule : EveryRule()) {
    const bool temporal = rule.method == SamplingMethod::kTemporalUniform ||
                          rule.method == SamplingMethod::kTemporalRecent;
    if (temporal || rule.fanout == 1000) continue;
    const NeighborOptions options{rule.replace, true, rule.method, rule.column, rule.largest};
    samplers.emplace_back(std::vector<int>{rule.fanout, 2}, options);
    samplers.emplace_back(
        std::vector<std::vector<int>>{{1, rule.fanout, 2, 0}, {0, 2, rule.fanout}}, options);
  }
  const BatchRequest request{{{3, 1, 4}, {1, 5, 9, 2, 6}}, 5, exclude_, {{1, "feat"}}, {}};
  for (Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
    const DistGraph graph = Connected(transport);
    for (size_t s = 0; s < samplers.size(); s++) {
      const MiniBatch a = samplers[s].Sample(*alone_, request),
                      b = samplers[s].Sample(graph, request);
      for (size_t l = 0; l < 2; l++) {
        ASSERT_EQ(a.blocks[l].src_nodes, b.blocks[l].src_nodes) << "sampler " << s;
        for (size_t e = 0; e < 4; e++) {
          const BlockEdges &x = a.blocks[l].edges[e], &y = b.blocks[l].edges[e];
          ASSERT_EQ(x.indptr, y.indptr) << "sampler " << s;
          ASSERT_EQ(x.indices, y.indices) << "sampler " << s;
          ASSERT_EQ(x.edge_ids, y.edge_ids) << "sampler " << s;
          for (int64_t id : x.edge_ids) {
            ASSERT_EQ(std::count(exclude_[e].begin(), exclude_[e].end(), id), 0)
                << "an excluded edge was sampled";
          }
        }
      }
      ASSERT_EQ(b.input_features[0].num_rows(), static_cast<int64_t>(b.input_nodes(1).size()));
      const auto bytes = a.input_features[0].num_bytes();
      ASSERT_EQ(b.input_features[0].num_bytes(), bytes);
      ASSERT_EQ(memcmp(a.input_features[0].data(), b.input_features[0].data(), bytes), 0);
    }
  }
}

TEST_F(SamplingMethods, EachEdgeTypeHasItsOwnFanout) {
  const NeighborSampler sampler(std::vector<std::vector<int>>{{0, 2, 3, kAllNeighbors}},
                                {.edge_ids = true});
  const MiniBatch batch = sampler.Sample(*alone_, {{0, 1, 2, 3}, {0, 1, 2, 3}}, 1);
  std::vector<std::vector<int64_t>> degrees(4, std::vector<int64_t>(4, 0));
  for (size_t e = 0; e < 4; e++) {
    for (const KnownEdge& edge : known_[e]) {
      if (edge.dst < 4) degrees[e][Index(edge.dst)]++;
    }
  }
  const int64_t most[] = {0, 2, 3, INT64_MAX};
  for (size_t e = 0; e < 4; e++) {
    const auto& indptr = batch.blocks[0].edges[e].indptr;
    for (size_t v = 0; v < 4; v++) {
      EXPECT_EQ(indptr[v + 1] - indptr[v], std::min(most[e], degrees[e][v]));
    }
  }
  EXPECT_THROW(
      NeighborSampler(std::vector<std::vector<int>>{{1, 1, 1, 1, 1}}, {}).Sample(*alone_, {{0}}, 1),
      Error);
}

TEST_F(SamplingMethods, BadRulesAreRefusedBeforeAnythingIsSent) {
  const DistGraph graph = Connected(Transport::kTcp);
  const auto code_of = [&](const SamplingRule& rule,
                           std::vector<HopSeeds> seeds) -> std::optional<ErrorCode> {
    try {
      SampleHop(graph, seeds, std::span(&rule, 1));
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  };
  const SamplingRule good{2, Direction::kIn, SamplingMethod::kTemporalRecent, 3, false, "time"};
  const auto with = [&](auto&& change) {
    SamplingRule rule = good;
    change(rule);
    return code_of(rule, seeds_);
  };
  EXPECT_EQ(with([](auto& r) { r.etype = 4; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.fanout = -2; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.replace = true; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.column = "nothing"; }), ErrorCode::kNotFound);
  EXPECT_EQ(with([](auto& r) { r.column = ""; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& r) { r.method = SamplingMethod::kWeighted; }), ErrorCode::kInvalid);
  std::vector<HopSeeds> seeds = seeds_;
  seeds[1].times = {};
  EXPECT_EQ(code_of(good, seeds), ErrorCode::kInvalid)
      << "floating-point times are accepted for an integer column";
  seeds[1].times = times_[0];
  EXPECT_EQ(code_of(good, seeds), ErrorCode::kInvalid) << "too few times are accepted";
  EXPECT_EQ(SampleHop(graph, seeds_, std::span(&good, 1)).size(), 1u);
}

}  // namespace
}  // namespace graphd::testing
