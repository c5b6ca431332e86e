// SPDX-License-Identifier: Apache-2.0
#include "format/partition/refine_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/format/partition/list_samples.h"

namespace graphd {
namespace {

using testing::ListSample;

uint64_t CutWeight(const NeighbourLists& lists, const std::vector<PartId>& owner) {
  uint64_t cut = 0;
  for (size_t u = 0; u < lists.nodes(); u++) {
    lists.ForEach(u,
                  [&](uint32_t v, uint32_t weight) { cut += owner[u] == owner[v] ? 0 : weight; });
  }
  return cut / 2;
}

std::vector<int64_t> Shares(const std::vector<PartId>& owner, size_t parts) {
  std::vector<int64_t> shares(parts, 0);
  for (PartId part : owner) shares[static_cast<size_t>(part)]++;
  return shares;
}

const BalanceTargets kNodes{{"_N"}, {}, {}};

TEST(RefineWithinRoom, NodesReturnToTheirCliques) {
  // Two cliques of 100 nodes, of which three have been exchanged; 3 % are three nodes.
  ListSample sample(200);
  for (uint32_t u = 0; u < 200; u++) {
    for (uint32_t v = u + 2; v < 200; v += 2) sample.Add(u, v);
  }
  std::vector<PartId> owner;
  for (int i = 0; i < 200; i++) owner.push_back(i < 6 ? 1 - i % 2 : i % 2);
  RefineWithinRoom(sample.lists(), NodeWeights(kNodes, 200), 2, 10, owner, [] {});
  EXPECT_EQ(CutWeight(sample.lists(), owner), 0u);
}

TEST(RefineWithinRoom, PartitionsThatAreTooLargeShrink) {
  const ListSample sample = testing::RandomLists(1000, 4000, 1);
  std::vector<PartId> owner(1000, 0);
  RefineWithinRoom(sample.lists(), NodeWeights(kNodes, 1000), 7, 16, owner, [] {});
  EXPECT_LE(Imbalance(Shares(owner, 7)), 1.03);
}

TEST(RefineWithinRoom, ItNeverMakesTheCutWorseWhileAllHaveRoom) {
  const ListSample sample = testing::RandomLists(1000, 4000, 2);
  std::vector<PartId> owner;
  for (int i = 0; i < 1000; i++) owner.push_back(i % 4);
  uint64_t before = CutWeight(sample.lists(), owner);
  const uint64_t first = before;
  int passes = 0;
  RefineWithinRoom(sample.lists(), NodeWeights(kNodes, 1000), 4, 10, owner, [&] {
    EXPECT_LE(CutWeight(sample.lists(), owner), before);
    before = CutWeight(sample.lists(), owner);
    passes++;
  });
  EXPECT_LT(before, first);
  EXPECT_GE(passes, 2);
}

TEST(RefineWithinRoom, SharesOfNodesComeBeforeSharesOfEdges) {
  // Partition 0 has too many nodes, and partition 1 has no room for more edges.
  std::vector<uint32_t> in_degrees(100);
  std::vector<PartId> owner;
  for (uint32_t i = 0; i < 100; i++) {
    owner.push_back(i < 54 ? 0 : 1);
    in_degrees[i] = i < 43 ? 2 : i < 54 ? 1 : i < 65 ? 3 : 2;
  }
  const BalanceTargets targets{{"_N"}, {}, in_degrees};
  const ListSample sample(100);
  RefineWithinRoom(sample.lists(), NodeWeights(targets, 100), 2, 16, owner, [] {});
  EXPECT_LE(Imbalance(Shares(owner, 2)), 1.03);
}

TEST(RefineByPrices, HubsThatAreScatteredComeTogether) {
  // 100 hubs, all joined with each other, and 900 leaves, each joined with 3 hubs. The best of 10
  // partitions holds the hubs, which nodes that move one by one find only if some leaves first.
  CounterRng rng(4);
  ListSample sample(1000);
  for (uint32_t u = 0; u < 100; u++) {
    for (uint32_t v = 0; v < u; v++) sample.Add(u, v);
  }
  for (uint32_t u = 100; u < 1000; u++) {
    for (int i = 0; i < 3; i++) sample.Add(u, static_cast<uint32_t>(rng.Below(100)));
  }
  std::vector<PartId> owner;
  for (int i = 0; i < 1000; i++) owner.push_back(i % 10);
  std::vector<PartId> by_room = owner;
  RefineByPrices(sample.lists(), NodeWeights(kNodes, 1000), 10, owner, [] {});
  RefineWithinRoom(sample.lists(), NodeWeights(kNodes, 1000), 10, 16, owner, [] {});
  EXPECT_LE(Imbalance(Shares(owner, 10)), 1.03);
  RefineWithinRoom(sample.lists(), NodeWeights(kNodes, 1000), 10, 16, by_room, [] {});
  EXPECT_LT(2 * CutWeight(sample.lists(), owner), CutWeight(sample.lists(), by_room));
}

}  // namespace
}  // namespace graphd
