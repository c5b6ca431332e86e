// SPDX-License-Identifier: Apache-2.0
#include "format/partition/cluster_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/format/partition/list_samples.h"

namespace graphd {
namespace {

using testing::ListSample;

Clusters Cluster(const NeighbourLists& lists, uint64_t max_nodes, uint64_t seed = 0) {
  const BalanceTargets targets{{"_N"}, {}, {}};
  return ClusterNodes(lists, NodeWeights(targets, lists.nodes()), max_nodes, seed, [] {});
}

std::vector<uint64_t> Sizes(const Clusters& clusters) {
  std::vector<uint64_t> sizes(clusters.count, 0);
  for (uint32_t cluster : clusters.of) sizes.at(cluster)++;
  return sizes;
}

// Returns `count` cliques of `size` nodes; node i belongs to clique i % count.
ListSample Cliques(uint32_t count, uint32_t size) {
  ListSample sample(count * size);
  for (uint32_t u = 0; u < count * size; u++) {
    for (uint32_t v = u + count; v < count * size; v += count) sample.Add(u, v);
  }
  return sample;
}

TEST(ClusterNodes, CliquesAreClusters) {
  const ListSample cliques = Cliques(5, 12);
  const Clusters clusters = Cluster(cliques.lists(), 12);
  EXPECT_EQ(clusters.count, 5u);
  for (size_t i = 0; i < clusters.of.size(); i++) EXPECT_EQ(clusters.of[i], clusters.of[i % 5]);
}

TEST(ClusterNodes, NoClusterExceedsTheBound) {
  const ListSample clique = Cliques(1, 50);
  for (uint64_t bound : {1, 2, 7, 50}) {
    const Clusters clusters = Cluster(clique.lists(), bound);
    const std::vector<uint64_t> sizes = Sizes(clusters);
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), bound);
    EXPECT_GE(*std::min_element(sizes.begin(), sizes.end()), 1u);
  }
}

TEST(ClusterNodes, LeavesOfAFullHubAreTogether) {
  ListSample star(101);
  for (uint32_t leaf = 1; leaf <= 100; leaf++) star.Add(0, leaf);
  const Clusters clusters = Cluster(star.lists(), 10);
  EXPECT_LE(clusters.count, 12u);
}

TEST(ClusterNodes, NodesWithoutNeighboursAreTogether) {
  EXPECT_EQ(Cluster(ListSample(40).lists(), 10).count, 4u);
}

TEST(ClusterNodes, TheSameSeedGivesTheSameClusters) {
  const ListSample graph = testing::RandomLists(500, 1500, 3);
  EXPECT_EQ(Cluster(graph.lists(), 20, 1).of, Cluster(graph.lists(), 20, 1).of);
  EXPECT_NE(Cluster(graph.lists(), 20, 1).of, Cluster(graph.lists(), 20, 2).of);
}

TEST(ClusterNodes, AnEmptyGraphHasNoClusters) {
  EXPECT_EQ(Cluster(ListSample(0).lists(), 10).count, 0u);
}

}  // namespace
}  // namespace graphd
