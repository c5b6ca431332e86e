// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

using testing::ClusteredGraph;
using testing::EdgeList;
using testing::HomogeneousGraph;

double CutShare(const RawGraph& graph, const NodeOwners& owners) {
  double cut = 0;
  graph.edges[0].ForEach(
      [&](size_t, uint64_t u, uint64_t v) { cut += owners[0][u] != owners[0][v]; });
  return cut / static_cast<double>(graph.edges[0].count());
}

class AssignStream : public ::testing::TestWithParam<PartMethod> {
 protected:
  NodeOwners Assign(const RawGraph& graph, int32_t parts, const StepProgress& progress = {}) {
    AssignOptions options;
    options.num_parts = parts;
    options.method = GetParam();
    options.coarsest_pairs = 100;
    return AssignNodes(graph, options, progress).owners;
  }
};

TEST_P(AssignStream, ClustersScatteredOverTheIdsAreFound) {
  const RawGraph graph = ClusteredGraph(64, 100, 1);
  // Whole clusters in every partition cut one edge in ten; random assignment cuts seven of eight.
  EXPECT_LT(CutShare(graph, Assign(graph, 8)), 0.2);
}

TEST_P(AssignStream, NeighboursInAFileGiveTheSameOwners) {
  RawGraph graph = ClusteredGraph(20, 50, 3);
  EdgeList edges;
  graph.edges[0].ForEach([&](size_t, uint64_t u, uint64_t v) {
    edges.emplace_back(static_cast<uint32_t>(u), static_cast<uint32_t>(v));
  });
  // The neighbours of this node exceed the buffer.
  for (uint32_t i = 0; i < 2000; i++) edges.emplace_back(i * 7 % 1000, 500u);
  graph = HomogeneousGraph(1000, edges);
  AssignOptions options;
  options.num_parts = 4;
  options.method = GetParam();
  options.coarsest_pairs = 100;
  const NodeOwners expected = AssignNodes(graph, options).owners;
  const testing::ScratchDirectory directory;
  SpillFiles spill(directory.path(), uint64_t{1} << 20);
  options.spill = &spill;
  for (const uint64_t memory : {uint64_t{4}, uint64_t{4000}, uint64_t{1} << 20}) {
    options.spill_memory = memory;
    EXPECT_TRUE(AssignNodes(graph, options).owners == expected) << memory;
  }
}

TEST_P(AssignStream, PartitionsDoNotExceedTheirLimit) {
  const RawGraph graph = ClusteredGraph(5, 1000, 2);  // not divisible by the number of partitions
  const NodeOwners owners = Assign(graph, 8);
  std::vector<int64_t> shares(8);
  for (PartId owner : owners[0]) shares[static_cast<size_t>(owner)]++;
  EXPECT_LE(*std::max_element(shares.begin(), shares.end()), 5000 / 8 * 1.03 + 1);
}

TEST_P(AssignStream, AHubWithMoreEdgesThanAShareIsAssigned) {
  EdgeList edges;
  for (uint32_t i = 0; i < 999; i++) edges.emplace_back(i + 1, 0);
  const RawGraph graph = HomogeneousGraph(1000, edges);
  AssignOptions options;
  options.num_parts = 4;
  options.method = GetParam();
  options.coarsest_pairs = 100;
  options.balance_edges = true;
  const NodeOwners owners = AssignNodes(graph, options).owners;
  std::vector<int64_t> shares(4);
  for (PartId owner : owners[0]) shares[static_cast<size_t>(owner)]++;
  EXPECT_LE(Imbalance(shares), 1.04);
}

TEST_P(AssignStream, ProgressCountsThePasses) {
  uint64_t last_done = 0, last_total = 1;
  Assign(ClusteredGraph(8, 50, 3), 4, [&](const std::string&, uint64_t done, uint64_t total) {
    last_done = done;
    last_total = total;
  });
  EXPECT_EQ(last_done, last_total);
}

INSTANTIATE_TEST_SUITE_P(Methods, AssignStream,
                         ::testing::Values(PartMethod::kLdg, PartMethod::kFennel,
                                           PartMethod::kMultilevel),
                         [](const auto& test) { return PartMethodName(test.param); });

}  // namespace
}  // namespace graphd
