// SPDX-License-Identifier: Apache-2.0
#include "format/external/spilled_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/index.h"
#include "base/rng.h"
#include "base/threads/run_threads.h"
#include "format/native/encoder.h"
#include "format/partition/sorted_edges.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

using testing::EdgeList;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;

std::vector<PartId> RandomOwners(int64_t nodes, int32_t parts) {
  CounterRng rng(3);
  std::vector<PartId> owners;
  for (int64_t i = 0; i < nodes; i++) {
    owners.push_back(static_cast<PartId>(static_cast<int32_t>(rng.Below(Index(parts)))));
  }
  return owners;
}

// Everything that the external sort says about the edges.
struct Sorted {
  std::vector<uint64_t> offsets{0}, src, edge;
  std::vector<float> weights;
};

Sorted Collect(const SpilledEdges& edges) {
  Sorted all;
  uint64_t next_node = 0;
  for (const EdgeRun& run : edges.runs()) {
    EXPECT_EQ(run.first_node, next_node);
    next_node = run.end_node;
    edges.ForEachPiece(
        run,
        [&](std::span<const uint64_t> degrees) {
          EXPECT_EQ(degrees.size(), run.end_node - run.first_node);
          for (uint64_t degree : degrees) all.offsets.push_back(all.offsets.back() + degree);
        },
        [&](const SortedPiece& piece) {
          all.src.insert(all.src.end(), piece.src.begin(), piece.src.end());
          all.edge.insert(all.edge.end(), piece.edge.begin(), piece.edge.end());
          if (piece.rows.empty()) return;
          const size_t before = all.weights.size();
          all.weights.resize(before + piece.rows.size() / sizeof(float));
          std::memcpy(all.weights.data() + before, piece.rows.data(), piece.rows.size());
        });
  }
  return all;
}

// Compares the external sort with the one in memory. Returns the number of runs.
size_t ExpectSameOrder(const RawGraph& graph, int32_t parts, uint64_t memory, bool weights) {
  const ScratchDirectory directory;
  const RawEdges& raw = graph.edges[0];
  const NodeNumbering nodes = NumberNodes(RandomOwners(graph.nodes[0].count, parts), parts);
  std::vector<EdgeColumn> columns;
  if (weights) {
    columns.push_back({&raw.features[0].values, Encoding::Plain(DType::kFloat32)});
  }
  const SpilledEdges made(raw, nodes, nodes, columns, memory, directory / "edges", {});
  // Another process goes on with what the JSON says.
  const nlohmann::json json = nlohmann::json::parse(made.ToJson().dump());
  const SpilledEdges spilled = SpilledEdges::FromJson(json, "edges.json");
  const SortedEdges expected(raw, nodes, nodes);
  EXPECT_EQ(spilled.edge_cut(), expected.edge_cut());
  const Sorted found = Collect(spilled);
  EXPECT_TRUE(std::equal(found.offsets.begin(), found.offsets.end(), expected.offsets().begin(),
                         expected.offsets().end()));
  expected.Visit([&](auto keys) {
    EXPECT_EQ(found.src.size(), keys.size());
    EXPECT_EQ(found.weights.size(), weights ? keys.size() : 0);
    size_t different = 0;
    for (size_t i = 0; i < std::min(found.src.size(), keys.size()); i++) {
      different += found.src[i] != keys[i].src() || found.edge[i] != keys[i].edge();
      if (weights) {
        const auto stored = static_cast<uint64_t>(raw.stored());
        different += found.weights[i] != testing::WeightValue(keys[i].edge() % stored);
      }
    }
    EXPECT_EQ(different, 0u);
  });
  spilled.Remove();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  return spilled.runs().size();
}

TEST(SpilledEdges, HaveTheOrderOfSortedEdgesInOneRunPerPartition) {
  const RawGraph graph = HomogeneousGraph(5000, RandomMultigraph(5000, 40000, 1));
  EXPECT_EQ(ExpectSameOrder(graph, 3, uint64_t{64} << 20, false), 3u);
  EXPECT_EQ(ExpectSameOrder(graph, 3, uint64_t{64} << 20, true), 3u);
}

TEST(SpilledEdges, HaveTheOrderOfSortedEdgesInManyRuns) {
  const RawGraph graph = HomogeneousGraph(5000, RandomMultigraph(5000, 40000, 2), true);
  EXPECT_GT(ExpectSameOrder(graph, 2, uint64_t{200} << 10, false), 20u);
  EXPECT_GT(ExpectSameOrder(graph, 7, uint64_t{200} << 10, true), 20u);
}

TEST(SpilledEdges, RefuseNodesOfAnotherRun) {
  const ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(500, RandomMultigraph(500, 4000, 1));
  const NodeNumbering nodes = NumberNodes(RandomOwners(500, 2), 2);
  const SpilledEdges spilled(graph.edges[0], nodes, nodes, {}, uint64_t{64} << 20,
                             directory / "edges", {});
  std::string bytes = ReadTextFile(directory / "edges.nodes");
  const uint32_t beyond = 500;
  std::memcpy(bytes.data() + 4 * sizeof beyond, &beyond, sizeof beyond);
  WriteFileAtomically(directory / "edges.nodes", bytes);
  try {
    Collect(spilled);
    FAIL() << "a node of another run was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("edge 4 (from 0) has node 500"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("remove " + directory.path()));
  }
}

TEST(SpilledEdges, UseSeveralThreadsForManyEdges) {
  const RawGraph graph = HomogeneousGraph(3000, RandomMultigraph(3000, 300000, 3));
  EXPECT_GT(ExpectSameOrder(graph, 5, uint64_t{4} << 20, true), 5u);
}

TEST(SpilledEdges, MergeTheInEdgesOfANodeThatExceedTheMemory) {
  EdgeList edges = RandomMultigraph(500, 2000, 4);
  CounterRng rng(5);
  for (int i = 0; i < 30000; i++) edges.emplace_back(static_cast<uint32_t>(rng.Below(500)), 77u);
  const RawGraph graph = HomogeneousGraph(500, edges);
  ExpectSameOrder(graph, 2, uint64_t{100} << 10, false);
  ExpectSameOrder(graph, 2, uint64_t{100} << 10, true);
}

TEST(SpilledEdges, TakeGraphsWithEmptyPartitionsAndWithoutEdges) {
  ExpectSameOrder(HomogeneousGraph(3, {{0, 1}, {1, 1}}), 9, uint64_t{1} << 20, true);
  ExpectSameOrder(HomogeneousGraph(100, {}), 4, uint64_t{1} << 20, false);
}

TEST(SpilledEdges, AskForMoreMemoryForMorePartitionsAndEdges) {
  const uint64_t few = LeastSortMemory(1 << 20, true, 0, 2);
  EXPECT_LE(few, uint64_t{16} << 20);
  EXPECT_GT(LeastSortMemory(1 << 20, true, 0, 16384), few);
  EXPECT_GT(LeastSortMemory(uint64_t{1} << 40, false, 0, 2), few);
  // Every thread, of which many edges have up to eight, has buffers for all runs.
  EXPECT_GE(LeastSortMemory(1 << 20, true, 1000, 1000),
            uint64_t{2} * UsefulThreads() * 2001 * 16 * 1012);
  // papers100M sorts within much less than its edges take.
  EXPECT_LE(LeastSortMemory(1'615'685'872, true, 0, 8), uint64_t{64} << 20);
}

}  // namespace
}  // namespace graphd
