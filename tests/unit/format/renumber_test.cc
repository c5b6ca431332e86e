// SPDX-License-Identifier: Apache-2.0
#include "format/renumber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "raw_graph_samples.h"

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

TEST(Renumber, NodesAreOrderedByPartitionThenByOriginalId) {
  const std::vector<PartId> owners = {2, 0, 2, 0, 2};
  const NodeNumbering numbering = NumberNodes(owners, 3);
  EXPECT_THAT(numbering.new_ids.as<uint32_t>(), ElementsAre(2u, 0u, 3u, 1u, 4u));
  EXPECT_THAT(numbering.first, ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(OriginalIds(owners, 2, 3), ElementsAre(0, 2, 4));
  EXPECT_TRUE(OriginalIds(owners, 1, 0).empty());
}

TEST(Renumber, EdgesAreOrderedByDestinationThenSourceThenOriginalId) {
  // New ids: 0 -> 1, 1 -> 0, 2 -> 2 (node 1 alone in partition 0).
  const RawGraph graph = HomogeneousGraph(3, {{2, 0}, {1, 1}, {0, 0}, {2, 0}, {0, 1}});
  const NodeNumbering nodes = NumberNodes({1, 0, 1}, 2);
  const SortedEdges edges(graph.edges[0], nodes, nodes);
  EXPECT_THAT(edges.offsets(), ElementsAre(0u, 2u, 5u, 5u));
  using Key = std::pair<uint64_t, uint64_t>;
  EXPECT_THAT(Keys(edges), ElementsAre(Key(0, 1), Key(1, 4), Key(1, 2), Key(2, 0), Key(2, 3)));
  EXPECT_EQ(edges.edge_cut(), 1);
}

TEST(Renumber, IdsOf64BitsAreSortedLikeThoseOf32) {
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

TEST(Renumber, MetisRefusesWhatItsIndicesCannotCountBeforeItAllocates) {
  RawGraph graph = HomogeneousGraph(1, {});
  graph.nodes[0].count = INT32_MAX;
  try {
    AssignByMetis(graph, 2, 0);
    FAIL() << "METIS took 2^31 - 1 nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("--part_method random"));
  }
}

}  // namespace
}  // namespace graphd
