// SPDX-License-Identifier: Apache-2.0
// Tests how link_prediction divides edges, and that the model never sees held-out edges.
#include "link_prediction/edge_sets.h"

#include <gtest/gtest.h>

#include <numeric>

#include "graphd/initialize.h"
#include "link_prediction/negatives.h"
#include "link_prediction/training_edges_sampler.h"
#include "tests/support/served_graph_fixture.h"

namespace link_prediction {
namespace {

using graphd::DistGraph;
using graphd::EdgeTypeId;

class EdgeSetsTest : public ::testing::Test {
 protected:
  graphd::testing::ServedGraphFixture served_{graphd::testing::TypedGraph(200, 300, 5), {}};
  DistGraph graph_{graphd::Initialize(served_.StandaloneOptions())};
  EdgeTypeId cites_ = graph_.schema().EdgeTypeIdOf("cites");
};

// Counts the edges of a type that are not for training in the blocks of all its destinations.
int HeldOutIn(const DistGraph& graph, const graphd::BlockSampler& sampler, EdgeTypeId etype) {
  const graphd::NodeTypeId ntype = graph.schema().dst_type(etype);
  graphd::BatchRequest request;
  request.seeds.resize(static_cast<size_t>(graph.schema().num_ntypes()));
  auto& seeds = request.seeds[static_cast<size_t>(ntype)];
  seeds.resize(static_cast<size_t>(graph.num_nodes(ntype)));
  std::iota(seeds.begin(), seeds.end(), int64_t{0});
  int held_out = 0;
  for (const graphd::Block& block : sampler.Sample(graph, request).blocks) {
    const auto& ids = block.edges[static_cast<size_t>(etype)].edge_ids;
    const graphd::EdgeEnds ends = graph.FindEdges(ids, etype);
    for (size_t i = 0; i < ids.size(); ++i) {
      held_out += SetOf(ends.src[i], ends.dst[i]) != EdgeSet::kTrain ? 1 : 0;
    }
  }
  return held_out;
}

TEST_F(EdgeSetsTest, EveryEdgeIsInOneSetAndItsReverseInTheSameOne) {
  const EdgeSets sets(graph_, cites_, cites_);
  const auto train = sets.Mask(EdgeSet::kTrain), valid = sets.Mask(EdgeSet::kValid),
             test = sets.Mask(EdgeSet::kTest);
  for (size_t i = 0; i < static_cast<size_t>(graph_.num_edges(cites_)); ++i) {
    EXPECT_EQ(train.as<uint8_t>()[i] + valid.as<uint8_t>()[i] + test.as<uint8_t>()[i], 1);
  }
  EXPECT_EQ(sets.size(EdgeSet::kTrain) + sets.size(EdgeSet::kValid) + sets.size(EdgeSet::kTest),
            graph_.num_edges(cites_));
  EXPECT_NEAR(static_cast<double>(sets.size(EdgeSet::kTrain)),
              0.8 * static_cast<double>(graph_.num_edges(cites_)),
              0.1 * static_cast<double>(graph_.num_edges(cites_)));
  for (int64_t u = 0; u < 100; ++u) EXPECT_EQ(SetOf(u, 7 * u + 1), SetOf(7 * u + 1, u));
}

TEST_F(EdgeSetsTest, PopularityCountsTrainingEdgesOnly) {
  const EdgeSets sets(graph_, cites_, cites_);
  double sum = 0;
  for (const float count : sets.popularity()) sum += count;
  EXPECT_EQ(sum, static_cast<double>(sets.size(EdgeSet::kTrain)));
  EXPECT_EQ(static_cast<int64_t>(sets.training_dst()->size()), sets.size(EdgeSet::kTrain));
}

TEST_F(EdgeSetsTest, HeldOutEdgesAreInNoBlock) {
  const EdgeSets sets(graph_, cites_, cites_);
  const graphd::NeighborSampler all({-1, -1}, false, /*edge_ids=*/true);
  EXPECT_GT(HeldOutIn(graph_, all, cites_), 0);
  EXPECT_EQ(HeldOutIn(graph_, TrainingEdgesSampler(all, sets.held_out()), cites_), 0);
}

TEST_F(EdgeSetsTest, AReverseTypeMustJoinTheSameNodeTypes) {
  const EdgeTypeId writes = graph_.schema().EdgeTypeIdOf("writes");
  EXPECT_THROW(EdgeSets(graph_, writes, cites_), graphd::Error);
}

TEST_F(EdgeSetsTest, PopularDestinationsKeepTheSourceAndAreDrawnFromGivenEdges) {
  const auto drawn_from =
      std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{5, 5, 9});
  const PopularDestinations sampler(300, drawn_from);
  const std::vector<int64_t> src{1, 2}, dst{3, 4};
  const graphd::NegativeEdges drawn = sampler.Sample(graph_, cites_, src, dst, 7);
  ASSERT_EQ(drawn.src.size(), 600U);
  ASSERT_EQ(drawn.dst.size(), 600U);
  int fives = 0;
  for (size_t i = 0; i < 600; ++i) {
    EXPECT_EQ(drawn.src[i], src[i / 300]);
    ASSERT_TRUE(drawn.dst[i] == 5 || drawn.dst[i] == 9);
    fives += drawn.dst[i] == 5 ? 1 : 0;
  }
  EXPECT_NEAR(fives, 400, 60);  // 5 standard deviations
  EXPECT_EQ(sampler.Sample(graph_, cites_, src, dst, 7).dst, drawn.dst);
  EXPECT_THROW(PopularDestinations(0, drawn_from), graphd::Error);
}

}  // namespace
}  // namespace link_prediction
