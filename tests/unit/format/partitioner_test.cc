// SPDX-License-Identifier: Apache-2.0
#include "format/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "base/file.h"
#include "format/load_part_config.h"
#include "format/native/load_partition.h"
#include "raw_graph_samples.h"
#include "whole_graph.h"

namespace graphd {
namespace {

using testing::EdgeList;
using testing::ExpectWholeGraph;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;
using testing::TypedGraph;

PartitionOptions Options(const ScratchDirectory& directory, int32_t parts, PartMethod method) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = parts;
  options.method = method;
  options.seed = 17;
  options.output = directory / "out";
  return options;
}

class EveryMethod : public ::testing::TestWithParam<std::tuple<PartId, PartMethod>> {
 protected:
  PartitionOptions OptionsFor(const ScratchDirectory& directory) {
    return Options(directory, std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
};

TEST_P(EveryMethod, KeepsEveryEdgeOfAMultigraphWithItsFeatures) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(200, RandomMultigraph(200, 1500, 5));
  ExpectWholeGraph(graph, PartitionGraph(graph, OptionsFor(directory)));
}

TEST_P(EveryMethod, AddsReversesThatShareTheirFeatures) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(60, RandomMultigraph(60, 300, 6), true);
  const PartitionSummary summary = PartitionGraph(graph, OptionsFor(directory));
  EXPECT_EQ(summary.meta->book.edges().total(), 600);
  ExpectWholeGraph(graph, summary);
}

TEST_P(EveryMethod, KeepsTypedGraphsWithATypeThatHasNoEdges) {
  ScratchDirectory directory;
  const RawGraph graph = TypedGraph(70, 110, 7);
  ExpectWholeGraph(graph, PartitionGraph(graph, OptionsFor(directory)));
}

TEST_P(EveryMethod, TakesGraphsWithoutEdgesAndOfOneNode) {
  ScratchDirectory first, second;
  const RawGraph without_edges = HomogeneousGraph(10, {});
  ExpectWholeGraph(without_edges, PartitionGraph(without_edges, OptionsFor(first)));
  const RawGraph one_node = HomogeneousGraph(1, {{0, 0}, {0, 0}});
  ExpectWholeGraph(one_node, PartitionGraph(one_node, OptionsFor(second)));
}

TEST_P(EveryMethod, WritesTheSameBytesForTheSameSeed) {
  ScratchDirectory first, second;
  const RawGraph graph = HomogeneousGraph(150, RandomMultigraph(150, 900, 8));
  const PartitionSummary a = PartitionGraph(graph, OptionsFor(first));
  PartitionGraph(graph, OptionsFor(second));
  for (PartId p = 0; p < a.meta->book.num_partitions(); p++) {
    for (const char* file : {"partition.json", "graph.seg", "node_feat.seg", "edge_feat.seg"}) {
      const std::string path = "out/part" + std::to_string(p) + "/" + file;
      EXPECT_EQ(ReadTextFile(first / path), ReadTextFile(second / path)) << path;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, EveryMethod,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5),
                                            ::testing::Values(PartMethod::kMetis,
                                                              PartMethod::kRandom,
                                                              PartMethod::kFennel)),
                         [](const auto& test) {
                           return std::string(PartMethodName(std::get<1>(test.param))) +
                                  std::to_string(std::get<0>(test.param));
                         });

TEST(Partitioner, MetisFindsTheCutBetweenTwoClusters) {
  ScratchDirectory directory;
  EdgeList edges;
  for (uint32_t i = 0; i < 40; i++) {
    for (uint32_t j = 0; j < i; j++) {
      // The graph has two cliques, the even and the odd nodes.
      if (i % 2 == j % 2) edges.emplace_back(i, j);
    }
  }
  edges.emplace_back(0, 1);
  const RawGraph graph = HomogeneousGraph(40, edges);
  const PartitionSummary summary = PartitionGraph(graph, Options(directory, 2, PartMethod::kMetis));
  EXPECT_EQ(summary.edge_cut, 1);
  EXPECT_EQ(summary.meta->book.nodes().count_in(0), 20);
}

TEST(Partitioner, TheTrainerOfEachNodeAndEdgeIsWrittenAsAFeature) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(90, RandomMultigraph(90, 500, 3), true);
  PartitionOptions options = Options(directory, 2, PartMethod::kRandom);
  options.num_trainers_per_machine = 3;
  const PartitionSummary summary = PartitionGraph(graph, options);
  const PartConfig config = LoadPartConfig(summary.part_config);
  for (PartId p = 0; p < 2; p++) {
    const auto part = LoadNativePartition(config, p);
    const Tensor of_nodes = part->node_feature(0, "trainer_id").ReadAll();
    const Tensor of_edges = part->edge_feature(0, "trainer_id").ReadAll();
    const auto nodes = of_nodes.as<int64_t>(), edges = of_edges.as<int64_t>();
    for (int64_t trainer : nodes) EXPECT_EQ(trainer / 3, p);
    const auto indptr = part->csc(0).indptr;
    for (size_t v = 0; v < nodes.size(); v++) {
      for (uint64_t i = indptr[v]; i < indptr[v + 1]; i++) EXPECT_EQ(edges[i], nodes[v]);
    }
  }
  RawGraph taken = graph;
  taken.nodes[0].features[1].name = "trainer_id";
  options.force = true;
  EXPECT_THROW(PartitionGraph(taken, options), Error);
}

TEST(Partitioner, AnotherSeedGivesAnotherRandomPartitioning) {
  const RawGraph graph = HomogeneousGraph(100, {});
  EXPECT_NE(AssignRandomly(graph, 4, 1), AssignRandomly(graph, 4, 2));
}

TEST(Partitioner, WritesAPartConfigWithDglsKeys) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(6, {{0, 1}, {2, 3}});
  const PartitionSummary summary =
      PartitionGraph(graph, Options(directory, 2, PartMethod::kRandom));
  const std::string text = ReadTextFile(summary.part_config);
  for (const char* key :
       {"graph_name", "num_nodes", "num_edges", "part_method", "num_parts", "halo_hops", "node_map",
        "edge_map", "ntypes", "etypes", "part-0", "part-1", "node_feats", "edge_feats",
        "part_graph", "\"format\": \"graphd-1\"", "_N:_E:_N"}) {
    EXPECT_THAT(text, HasSubstr(key));
  }
}

TEST(Partitioner, RefusesToOverwriteUnlessForced) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(30, {{0, 1}, {2, 3}});
  PartitionOptions options = Options(directory, 3, PartMethod::kRandom);
  PartitionGraph(graph, options);
  try {
    PartitionGraph(graph, options);
    FAIL() << "it overwrote the output";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kExists);
    EXPECT_THAT(error.what(), HasSubstr("--force"));
  }
  options.force = true;
  options.num_parts = 2;
  ExpectWholeGraph(graph, PartitionGraph(graph, options));
  EXPECT_FALSE(FileExists(directory / "out/part2"));
}

TEST(Partitioner, RefusesInvalidNamesAndNumbers) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(3, {});
  for (const char* name : {"", "../up", "a/b", ".hidden", "two words"}) {
    PartitionOptions options = Options(directory, 1, PartMethod::kRandom);
    options.graph_name = name;
    EXPECT_THROW(PartitionGraph(graph, options), Error) << name;
  }
  for (int32_t parts : {0, -1, 1 << 20}) {
    EXPECT_THROW(PartitionGraph(graph, Options(directory, parts, PartMethod::kRandom)), Error);
  }
  EXPECT_THROW(PartMethodFromName("magic"), Error);
}

}  // namespace
}  // namespace graphd
