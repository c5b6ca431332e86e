// SPDX-License-Identifier: Apache-2.0
#include "format/partition/node_weights.h"

#include <gtest/gtest.h>

#include <map>

namespace graphd {
namespace {

std::map<size_t, uint64_t> ByQuantityOf(const NodeWeights& weights, size_t node) {
  std::map<size_t, uint64_t> of;
  weights.ForEach(node, [&](size_t quantity, uint64_t weight) {
    EXPECT_TRUE(of.emplace(quantity, weight).second) << "quantity " << quantity << " is repeated";
  });
  return of;
}

using ByQuantity = std::map<size_t, uint64_t>;

TEST(NodeWeights, ANodeIsOneOfItsClassWithItsInEdges) {
  const BalanceTargets targets{{"a", "b"}, {0, 1, 1}, {5, 0, 7}};
  const NodeWeights weights(targets, 3);
  EXPECT_EQ(weights.quantities(), 4u);
  EXPECT_EQ(ByQuantityOf(weights, 0), (ByQuantity{{0, 1}, {2, 5}}));
  EXPECT_EQ(ByQuantityOf(weights, 1), (ByQuantity{{1, 1}}));
  EXPECT_EQ(ByQuantityOf(weights, 2), (ByQuantity{{1, 1}, {3, 7}}));
  EXPECT_EQ(weights.Sums(), (std::vector<uint64_t>{1, 2, 5, 7}));
}

TEST(NodeWeights, AClusterHasTheSumsOfItsNodes) {
  const BalanceTargets targets{{"a", "b"}, {0, 1, 1, 0}, {5, 0, 7, 2}};
  const NodeWeights nodes(targets, 4);
  const NodeWeights clusters(nodes, std::vector<uint32_t>{1, 0, 1, 1}, 2);
  EXPECT_EQ(ByQuantityOf(clusters, 0), (ByQuantity{{1, 1}}));
  EXPECT_EQ(ByQuantityOf(clusters, 1), (ByQuantity{{0, 2}, {1, 1}, {2, 7}, {3, 7}}));
  EXPECT_EQ(clusters.nodes_in(1), 3u);
  EXPECT_EQ(clusters.Sums(), nodes.Sums());
  const NodeWeights larger(clusters, std::vector<uint32_t>{0, 0}, 1);
  EXPECT_EQ(ByQuantityOf(larger, 0), (ByQuantity{{0, 2}, {1, 2}, {2, 7}, {3, 7}}));
  EXPECT_EQ(larger.nodes_in(0), 4u);
}

TEST(NodeWeights, NodesOfOneClassAreCounted) {
  const BalanceTargets targets{{"_N"}, {}, {}};
  const NodeWeights clusters(NodeWeights(targets, 5), std::vector<uint32_t>{0, 2, 0, 0, 2}, 3);
  EXPECT_EQ(ByQuantityOf(clusters, 0), (ByQuantity{{0, 3}}));
  EXPECT_EQ(ByQuantityOf(clusters, 1), (ByQuantity{{0, 0}}));
  EXPECT_EQ(clusters.Sums(), (std::vector<uint64_t>{5}));
}

}  // namespace
}  // namespace graphd
