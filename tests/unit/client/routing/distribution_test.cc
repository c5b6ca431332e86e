// SPDX-License-Identifier: Apache-2.0
// Tests that samples are uniform: enumerates all samples of a small row, and makes chi-square tests
// on hubs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "graphd/samplers.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

class Distribution : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = std::make_unique<ServedGraphFixture>(std::vector<std::vector<int>>{});
    graph_ = std::make_unique<DistGraph>(Initialize(files_->StandaloneOptions()));
  }
  static void TearDownTestSuite() {
    graph_.reset();
    files_.reset();
  }
  static int64_t NewId(int64_t original) {
    const Tensor orig = graph_->ndata("orig_id").Slice(0, graph_->num_nodes());
    const auto ids = orig.as<int64_t>();
    return std::find(ids.begin(), ids.end(), original) - ids.begin();
  }
  static std::unique_ptr<ServedGraphFixture> files_;
  static std::unique_ptr<DistGraph> graph_;
};

std::unique_ptr<ServedGraphFixture> Distribution::files_;
std::unique_ptr<DistGraph> Distribution::graph_;

// Returns the number of standard deviations by which `statistic` exceeds a chi-square mean.
double ChiSquareExcess(double statistic, double degrees) {
  return (statistic - degrees) / std::sqrt(2 * degrees);
}

TEST_F(Distribution, HubsAreSampledUniformlyWithAndWithoutReplacement) {
  const std::vector<int64_t> hub{NewId(0)};
  for (bool replace : {false, true}) {
    for (int fanout : {10, 5000}) {
      std::map<int64_t, int> hits;
      const int rounds = fanout == 10 ? 50000 : 100;
      for (int round = 0; round < rounds; round++) {
        const Neighbors n = SampleNeighbors(
            *graph_, hub, {fanout, replace, static_cast<uint64_t>(round), 0, false});
        ASSERT_EQ(n.neighbors.size(), static_cast<size_t>(fanout));
        for (int64_t v : n.neighbors) hits[v]++;
        if (!replace) {
          ASSERT_EQ(std::set<int64_t>(n.neighbors.begin(), n.neighbors.end()).size(),
                    n.neighbors.size());
        }
      }
      const double expected = static_cast<double>(rounds) * fanout / ServedGraphFixture::kHubDegree;
      double statistic = 0;
      for (const auto& [v, count] : hits) statistic += std::pow(count - expected, 2) / expected;
      statistic += expected * static_cast<double>(ServedGraphFixture::kHubDegree - hits.size());
      // Without replacement the counts of one round are negatively correlated: the variance shrinks
      // by (1 - fanout/degree).
      if (!replace) statistic /= 1 - static_cast<double>(fanout) / ServedGraphFixture::kHubDegree;
      const double excess = ChiSquareExcess(statistic, ServedGraphFixture::kHubDegree - 1);
      EXPECT_LT(std::abs(excess), 5) << "replace " << replace << " fanout " << fanout;
    }
  }
}

TEST_F(Distribution, EveryPairOfASmallRowIsEquallyLikely) {
  // A node with 6 in-edges has 15 pairs of them.
  const Tensor ids = graph_->ndata("orig_id").Slice(0, 2000);
  std::vector<int64_t> seeds(2000);
  for (int64_t i = 0; i < 2000; i++) seeds[static_cast<size_t>(i)] = i;
  const Neighbors all = SampleNeighbors(*graph_, seeds, {kAllNeighbors, false, 0, 0, true});
  std::vector<int64_t> node;
  for (size_t i = 0; i < seeds.size() && node.empty(); i++) {
    if (all.indptr[i + 1] - all.indptr[i] == 6) node = {seeds[i]};
  }
  ASSERT_FALSE(node.empty());
  std::map<std::set<int64_t>, int> pairs;
  const int rounds = 30000;
  for (int round = 0; round < rounds; round++) {
    const Neighbors n =
        SampleNeighbors(*graph_, node, {2, false, static_cast<uint64_t>(round), 0, true});
    pairs[{n.edge_ids[0], n.edge_ids[1]}]++;
  }
  ASSERT_EQ(pairs.size(), 15u);
  double statistic = 0;
  const double expected = rounds / 15.0;
  for (const auto& [pair, count] : pairs) statistic += std::pow(count - expected, 2) / expected;
  EXPECT_LT(std::abs(ChiSquareExcess(statistic, 14)), 5);
}

TEST_F(Distribution, SamplesOfDifferentLayersAndNodesAreIndependent) {
  const std::vector<int64_t> hubs{NewId(0), NewId(1)};
  const Neighbors a = SampleNeighbors(*graph_, hubs, {100, false, 1, 0, false});
  const Neighbors b = SampleNeighbors(*graph_, hubs, {100, false, 1, 1, false});
  const std::set<int64_t> first(a.neighbors.begin(), a.neighbors.begin() + 100);
  const std::set<int64_t> second(a.neighbors.begin() + 100, a.neighbors.end());
  const std::set<int64_t> layer(b.neighbors.begin(), b.neighbors.begin() + 100);
  const auto common = [](const std::set<int64_t>& x, const std::set<int64_t>& y) {
    return std::count_if(x.begin(), x.end(), [&](int64_t v) { return y.contains(v); });
  };
  EXPECT_LT(common(first, second), 5);  // 0.2 expected
  EXPECT_LT(common(first, layer), 5);
}

}  // namespace
}  // namespace graphd::testing
