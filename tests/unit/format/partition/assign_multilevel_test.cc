// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/rng.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

using testing::ClusteredGraph;
using testing::EdgeList;
using testing::HomogeneousGraph;

// Returns an R-MAT graph (a .57, b .19, c .19): hubs with most of the edges, no clusters.
RawGraph Rmat(int levels, int64_t edges, uint64_t seed) {
  CounterRng rng(seed);
  EdgeList list;
  for (int64_t i = 0; i < edges; i++) {
    uint32_t u = 0, v = 0;
    for (int level = 0; level < levels; level++) {
      const uint64_t draw = rng.Below(100);
      u = 2 * u + (draw >= 76);
      v = 2 * v + ((draw >= 57 && draw < 76) || draw >= 95);
    }
    list.emplace_back(u, v);
  }
  return HomogeneousGraph(int64_t{1} << levels, list);
}

int64_t CutEdges(const RawGraph& graph, const NodeOwners& owners) {
  int64_t cut = 0;
  graph.edges[0].ForEach(
      [&](size_t, uint64_t u, uint64_t v) { cut += owners[0][u] != owners[0][v]; });
  return cut;
}

AssignOptions Options(PartMethod method, int32_t parts) {
  AssignOptions options;
  options.method = method;
  options.num_parts = parts;
  options.coarsest_pairs = 3000;
  return options;
}

void ExpectCutLikeMetis(const RawGraph& graph, int32_t parts) {
  const NodeOwners metis = AssignNodes(graph, Options(PartMethod::kMetis, parts)).owners;
  const NodeOwners owners = AssignNodes(graph, Options(PartMethod::kMultilevel, parts)).owners;
  EXPECT_LE(static_cast<double>(CutEdges(graph, owners)),
            1.15 * static_cast<double>(CutEdges(graph, metis)))
      << parts << " partitions";
  std::vector<int64_t> shares(static_cast<size_t>(parts));
  for (PartId owner : owners[0]) shares[static_cast<size_t>(owner)]++;
  EXPECT_LE(Imbalance(shares), kMaxImbalance + 0.001);
}

TEST(AssignMultilevel, CutsClustersAndHubsLikeMetis) {
  for (int32_t parts : {2, 8, 32}) {
    ExpectCutLikeMetis(ClusteredGraph(128, 100, 7), parts);
    ExpectCutLikeMetis(Rmat(14, 200000, 7), parts);
  }
}

TEST(AssignMultilevel, ClassesAndEdgesAreBalancedOnALargeGraph) {
  const RawGraph graph = Rmat(13, 100000, 3);
  AssignOptions options = Options(PartMethod::kMultilevel, 4);
  options.balance_ntypes = {"label"};
  options.balance_edges = true;
  const NodeOwners owners = AssignNodes(graph, options).owners;
  const std::vector<ClassShares> classes = CountClasses(graph, options, owners);
  EXPECT_GT(classes.size(), 1u);
  for (const ClassShares& shares : classes) {
    EXPECT_LE(Imbalance(shares.nodes), kMaxImbalance + 0.01) << shares.name;
    EXPECT_LE(Imbalance(shares.edges), 1.3) << shares.name;
  }
}

TEST(AssignMultilevel, AnotherSeedGivesAnotherAssignment) {
  const RawGraph graph = ClusteredGraph(64, 100, 9);
  AssignOptions options = Options(PartMethod::kMultilevel, 4);
  const NodeOwners first = AssignNodes(graph, options).owners;
  options.seed = 1;
  EXPECT_NE(AssignNodes(graph, options).owners, first);
}

TEST(AssignMultilevel, ProgressNamesTheLevels) {
  std::set<std::string> steps;
  const RawGraph graph = ClusteredGraph(64, 100, 9);
  AssignNodes(graph, Options(PartMethod::kMultilevel, 4),
              [&](const std::string& step, uint64_t done, uint64_t total) {
                EXPECT_TRUE(total == 0 || done <= total) << step;
                steps.insert(step);
              });
  EXPECT_TRUE(steps.contains("grouping nodes into clusters, level 0"));
  EXPECT_TRUE(steps.contains("improving partitions of clusters, level 1"));
  EXPECT_TRUE(steps.contains("improving partitions, level 0"));
}

TEST(AssignMultilevel, TooLittleMemoryForTheLastLevelIsReportedWithTheRemedy) {
  const RawGraph graph = ClusteredGraph(64, 100, 9);
  AssignOptions options = Options(PartMethod::kMultilevel, 4);
  options.metis.max_bytes = 1000;
  try {
    AssignNodes(graph, options);
    FAIL() << "METIS ran within 1000 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("clusters of nodes"));
    // 64 * 100 nodes and twice 64 * 100 * 8 edges without self loops, at 32 and 4 bytes.
    EXPECT_THAT(error.what(), ::testing::HasSubstr("fennel, which need about 59"));
  }
}

TEST(AssignMultilevel, MoreThanMetisCanCountIsScaledOrRefused) {
  const RawGraph graph = ClusteredGraph(64, 100, 9);
  AssignOptions options = Options(PartMethod::kMultilevel, 4);
  options.balance_edges = true;
  options.metis.max_index = 20000;  // the graph has 51,200 edges to balance
  std::vector<int64_t> shares(4);
  const NodeOwners owners = AssignNodes(graph, options).owners;
  for (PartId owner : owners[0]) shares[static_cast<size_t>(owner)]++;
  EXPECT_LE(Imbalance(shares), kMaxImbalance + 0.001);
  options.metis.max_index = 500;
  try {
    AssignNodes(graph, options);
    FAIL() << "METIS counted beyond 500";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("clusters, METIS"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("--part_method ldg or fennel"));
  }
}

}  // namespace
}  // namespace graphd
