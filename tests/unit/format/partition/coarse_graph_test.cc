// SPDX-License-Identifier: Apache-2.0
#include "format/partition/coarse_graph.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>

#include "tests/unit/format/partition/list_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using testing::ListSample;
using EdgeWeightsByPair = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

EdgeWeightsByPair Sum(const NeighbourLists& lists, const std::vector<uint32_t>& cluster_of) {
  EdgeWeightsByPair weights;
  for (uint32_t u = 0; u < lists.nodes(); u++) {
    lists.ForEach(u, [&](uint32_t v, uint32_t weight) {
      const uint32_t from = cluster_of[u], to = cluster_of[v];
      if (from != to) weights[{from, to}] += weight;
    });
  }
  return weights;
}

// Returns the weights of a graph without repeated edges.
EdgeWeightsByPair WeightsOf(const NeighbourLists& lists) {
  EdgeWeightsByPair weights;
  for (uint32_t u = 0; u < lists.nodes(); u++) {
    lists.ForEach(u, [&](uint32_t v, uint32_t weight) {
      EXPECT_TRUE(weights.emplace(std::pair(u, v), weight).second) << u << " " << v;
    });
  }
  return weights;
}

Clusters Modulo(size_t nodes, uint32_t count) {
  Clusters clusters;
  for (uint32_t i = 0; i < nodes; i++) clusters.of.push_back(i * 7 % count);
  clusters.count = count;
  return clusters;
}

TEST(CoarseGraph, AddsUpEdgesBetweenClusters) {
  const ListSample sample = testing::RandomLists(300, 5000, 1);
  const Clusters clusters = Modulo(300, 40);
  const CoarseGraph graph(sample.lists(), clusters, nullptr, 0, [] {});
  EXPECT_EQ(graph.lists().nodes(), 40u);
  EXPECT_EQ(WeightsOf(graph.lists()), Sum(sample.lists(), clusters.of));
}

TEST(CoarseGraph, FilesHoldTheSameWithAnyBufferAndAreRemoved) {
  const ListSample sample = testing::RandomLists(300, 5000, 2);
  const Clusters clusters = Modulo(300, 40);
  const testing::ScratchDirectory directory;
  SpillFiles spill(directory.path(), uint64_t{1} << 20);
  // The longest list has some 250 edges of 8 bytes.
  for (uint64_t memory : {0, 8, 1000, 5000, 1000000}) {
    const CoarseGraph graph(sample.lists(), clusters, &spill, memory, [] {});
    EXPECT_EQ(WeightsOf(graph.lists()), Sum(sample.lists(), clusters.of)) << memory;
    EXPECT_FALSE(std::filesystem::is_empty(directory.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(CoarseGraph, WeightsStopAtTheLargestNumber) {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  ListSample sample(4);
  sample.Add(0, 1, kMost - 1);
  sample.Add(2, 3, 5);
  for (uint64_t memory : {0, 1000}) {
    const testing::ScratchDirectory directory;
    SpillFiles spill(directory.path(), uint64_t{1} << 20);
    const CoarseGraph graph(sample.lists(), {{0, 1, 0, 1}, 2}, &spill, memory, [] {});
    EXPECT_EQ(WeightsOf(graph.lists()), (EdgeWeightsByPair{{{0, 1}, kMost}, {{1, 0}, kMost}}));
  }
}

TEST(CoarseGraph, ClustersWithoutEdgesHaveEmptyLists) {
  ListSample sample(4);
  sample.Add(0, 1);
  const CoarseGraph graph(sample.lists(), {{0, 0, 1, 2}, 3}, nullptr, 0, [] {});
  EXPECT_EQ(graph.lists().nodes(), 3u);
  EXPECT_TRUE(graph.lists().ids.empty());
}

}  // namespace
}  // namespace graphd
