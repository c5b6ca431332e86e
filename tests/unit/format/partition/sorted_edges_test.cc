// SPDX-License-Identifier: Apache-2.0
#include "format/partition/sorted_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/rng.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

using testing::EdgeList;
using ::testing::ElementsAre;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;

Tensor Widen(const Tensor& narrow) {
  TensorBuilder wide(DType::kUInt64);
  for (uint32_t id : narrow.as<uint32_t>()) wide.Append(uint64_t{id});
  return std::move(wide).Finish({narrow.num_rows()});
}

std::vector<std::pair<uint64_t, uint64_t>> Keys(const SortedEdges& edges) {
  std::vector<std::pair<uint64_t, uint64_t>> keys;
  edges.Visit([&](auto span) {
    for (const auto& key : span) keys.emplace_back(key.src(), key.edge());
  });
  return keys;
}

// Compares the result with a single sort of all edges.
void ExpectSorted(const RawEdges& raw, const NodeNumbering& nodes) {
  const auto new_ids = nodes.new_ids.as<uint32_t>();
  std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> all;  // destination, source, edge
  const auto owner = [&](uint64_t id) {
    return std::upper_bound(nodes.first.begin(), nodes.first.end(), static_cast<int64_t>(id)) -
           nodes.first.begin();
  };
  int64_t cut = 0;
  raw.ForEach([&](size_t edge, uint64_t u, uint64_t v) {
    all.emplace_back(new_ids[v], new_ids[u], edge);
    cut += owner(new_ids[u]) != owner(new_ids[v]);
  });
  std::sort(all.begin(), all.end());
  std::vector<std::pair<uint64_t, uint64_t>> keys;
  std::vector<uint64_t> offsets(new_ids.size() + 1);
  for (const auto& [v, u, edge] : all) {
    keys.emplace_back(u, edge);
    offsets[v + 1]++;
  }
  for (size_t v = 0; v < new_ids.size(); v++) offsets[v + 1] += offsets[v];
  const SortedEdges sorted(raw, nodes, nodes);
  EXPECT_TRUE(Keys(sorted) == keys);
  EXPECT_TRUE(
      std::equal(offsets.begin(), offsets.end(), sorted.offsets().begin(), sorted.offsets().end()));
  EXPECT_EQ(sorted.edge_cut(), cut);
}

TEST(SortedEdges, EdgesAreOrderedByDestinationThenSourceThenOriginalId) {
  // The new ids are 0 -> 1, 1 -> 0, 2 -> 2 (node 1 alone in partition 0).
  const RawGraph graph = HomogeneousGraph(3, {{2, 0}, {1, 1}, {0, 0}, {2, 0}, {0, 1}});
  const NodeNumbering nodes = NumberNodes({1, 0, 1}, 2);
  const SortedEdges edges(graph.edges[0], nodes, nodes);
  EXPECT_THAT(edges.offsets(), ElementsAre(0u, 2u, 5u, 5u));
  using Key = std::pair<uint64_t, uint64_t>;
  EXPECT_THAT(Keys(edges), ElementsAre(Key(0, 1), Key(1, 4), Key(1, 2), Key(2, 0), Key(2, 3)));
  EXPECT_EQ(edges.edge_cut(), 1);
}

TEST(SortedEdges, IdsOf64BitsAreSortedLikeThoseOf32) {
  RawGraph graph = HomogeneousGraph(200, RandomMultigraph(200, 3000, 4), true);
  NodeNumbering nodes = NumberNodes(AssignRandomly(graph, 3, 5)[0], 3);
  const SortedEdges narrow(graph.edges[0], nodes, nodes);
  nodes.new_ids = Widen(nodes.new_ids);
  graph.edges[0].src = Widen(graph.edges[0].src);
  graph.edges[0].dst = Widen(graph.edges[0].dst);
  const SortedEdges wide(graph.edges[0], nodes, nodes);
  EXPECT_EQ(Keys(narrow), Keys(wide));
  EXPECT_EQ(narrow.edge_cut(), wide.edge_cut());
}

TEST(SortedEdges, ManyEdgesAreSortedInBucketsByThreads) {
  // The edges have more destinations than a bucket may have, and reverses.
  constexpr int64_t kNodes = 150000;
  const RawGraph graph = HomogeneousGraph(kNodes, RandomMultigraph(kNodes, 300000, 9), true);
  ExpectSorted(graph.edges[0], NumberNodes(AssignRandomly(graph, 5, 1)[0], 5));
}

TEST(SortedEdges, MostEdgesMayPointAtOneNode) {
  constexpr uint64_t kNodes = 1000;
  CounterRng rng(3);
  EdgeList edges;
  for (uint32_t i = 0; i < 400000; i++) {
    const auto dst = i % 10 ? 500u : static_cast<uint32_t>(rng.Below(kNodes));
    edges.emplace_back(static_cast<uint32_t>(rng.Below(kNodes)), dst);
  }
  const RawGraph graph = HomogeneousGraph(kNodes, edges);
  ExpectSorted(graph.edges[0], NumberNodes(AssignRandomly(graph, 3, 2)[0], 3));
}

TEST(SortedEdges, PartitionsMayBeEmptyAndTypesWithoutNodes) {
  const RawGraph none = HomogeneousGraph(0, {});
  const NodeNumbering nowhere = NumberNodes({}, 3);
  EXPECT_THAT(SortedEdges(none.edges[0], nowhere, nowhere).offsets(), ElementsAre(0u));
  const RawGraph graph = HomogeneousGraph(2, {{0, 1}, {1, 0}, {1, 1}});
  ExpectSorted(graph.edges[0], NumberNodes({4, 1}, 6));
}

}  // namespace
}  // namespace graphd
