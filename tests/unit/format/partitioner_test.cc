// SPDX-License-Identifier: Apache-2.0
#include "format/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/file.h"
#include "format/native.h"
#include "raw_graph_samples.h"

namespace graphd {
namespace {

using testing::EdgeList;
using testing::FeatValue;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;
using testing::TypedGraph;
using testing::WeightValue;

using Parts = std::vector<std::shared_ptr<const Partition>>;

PartitionOptions Options(const ScratchDirectory& directory, PartId parts, PartMethod method) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = parts;
  options.method = method;
  options.seed = 17;
  options.output = directory / "out";
  return options;
}

Parts LoadAll(const std::string& part_config) {
  const PartConfig config = LoadPartConfig(part_config);
  EXPECT_EQ(config.format, PartFormat::kNative);
  Parts parts;
  for (PartId p = 0; p < config.meta->book.num_partitions(); p++) {
    parts.push_back(LoadNativePartition(config, p));
    EXPECT_EQ(parts.back()->bytes(), EstimateNativeBytes(config, p));
  }
  return parts;
}

// (original edge id, original source, original destination, weight)
using EdgeRow = std::tuple<int64_t, int64_t, int64_t, float>;

// Original id of every new id of a node type, checked to be a permutation with the right features.
std::vector<int64_t> OriginalNodes(const Parts& parts, NodeTypeId t, const RawNodes& raw) {
  std::vector<int64_t> original;
  for (const auto& part : parts) {
    const auto ids = part->node_feature(t, kOrigId).as<int64_t>();
    const auto feat = part->node_feature(t, "feat").as<float>();
    const auto label = part->node_feature(t, "label").as<int64_t>();
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    for (size_t i = 0; i < ids.size(); i++) {
      EXPECT_EQ(feat[3 * i + 2], FeatValue(static_cast<uint64_t>(ids[i]), 2));
      EXPECT_EQ(label[i], ids[i] % 7);
    }
    original.insert(original.end(), ids.begin(), ids.end());
  }
  std::vector<int64_t> sorted = original;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted.size(), static_cast<size_t>(raw.count));
  for (size_t i = 0; i < sorted.size(); i++) EXPECT_EQ(sorted[i], static_cast<int64_t>(i));
  return original;
}

std::vector<EdgeRow> EdgesIn(const Parts& parts, EdgeTypeId e,
                             const std::vector<std::vector<int64_t>>& original) {
  const Schema& schema = parts[0]->meta().schema;
  const IdMap& nodes = parts[0]->meta().book.nodes();
  std::vector<EdgeRow> rows;
  for (const auto& part : parts) {
    const Csc& csc = part->csc(e);
    EXPECT_FALSE(csc.edge_rows.has_value());
    const auto ids = part->edge_feature(e, kOrigId).as<int64_t>();
    const auto weight = part->edge_feature(e, "weight").as<float>();
    for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
      const auto row = static_cast<int64_t>(v);
      const int64_t dst = nodes.FromLocalRow(part->id(), schema.dst_type(e), row);
      for (uint64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; i++) {
        if (i > csc.indptr[v]) {
          EXPECT_LE(csc.indices[i - 1], csc.indices[i]);
        }
        const auto src_type = static_cast<size_t>(schema.src_type(e));
        const auto dst_type = static_cast<size_t>(schema.dst_type(e));
        rows.emplace_back(ids[i], original[src_type][csc.indices[i]],
                          original[dst_type][static_cast<size_t>(dst)], weight[i]);
      }
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<EdgeRow> EdgesOf(const RawEdges& raw) {
  std::vector<EdgeRow> rows;
  const auto stored = static_cast<size_t>(raw.stored());
  raw.ForEach([&](size_t id, uint64_t u, uint64_t v) {
    rows.emplace_back(id, u, v, WeightValue(id % stored));
  });
  return rows;
}

void ExpectWholeGraph(const RawGraph& graph, const PartitionSummary& summary) {
  const Parts parts = LoadAll(summary.part_config);
  std::vector<std::vector<int64_t>> original;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    original.push_back(OriginalNodes(parts, t, graph.nodes[static_cast<size_t>(t)]));
  }
  int64_t cut = 0;
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    EXPECT_EQ(EdgesIn(parts, e, original), EdgesOf(graph.edges[static_cast<size_t>(e)]));
    for (const auto& part : parts) {
      const IdSpan& sources = part->csc(e).indices;
      for (size_t i = 0; i < sources.size(); i++) {
        cut += part->meta().book.nodes().Owner(graph.schema.src_type(e),
                                               static_cast<int64_t>(sources[i])) != part->id();
      }
    }
  }
  EXPECT_EQ(cut, summary.edge_cut);
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
                                                              PartMethod::kRandom)),
                         [](const auto& test) {
                           return std::string(PartMethodName(std::get<1>(test.param))) +
                                  std::to_string(std::get<0>(test.param));
                         });

TEST(Partitioner, MetisFindsTheCutBetweenTwoClusters) {
  ScratchDirectory directory;
  EdgeList edges;
  for (uint32_t i = 0; i < 40; i++) {
    for (uint32_t j = 0; j < i; j++) {
      // Two cliques, the even and the odd nodes.
      if (i % 2 == j % 2) edges.emplace_back(i, j);
    }
  }
  edges.emplace_back(0, 1);
  const RawGraph graph = HomogeneousGraph(40, edges);
  const PartitionSummary summary = PartitionGraph(graph, Options(directory, 2, PartMethod::kMetis));
  EXPECT_EQ(summary.edge_cut, 1);
  EXPECT_EQ(summary.meta->book.nodes().count_in(0), 20);
}

TEST(Partitioner, AnotherSeedGivesAnotherRandomPartitioning) {
  const RawGraph graph = HomogeneousGraph(100, {});
  EXPECT_NE(AssignRandomly(graph, 4, 1), AssignRandomly(graph, 4, 2));
}

TEST(Partitioner, WritesThePartConfigThatDglUsersKnow) {
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

TEST(Partitioner, RefusesNamesAndNumbersThatMakeNoSense) {
  ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(3, {});
  for (const char* name : {"", "../up", "a/b", ".hidden", "two words"}) {
    PartitionOptions options = Options(directory, 1, PartMethod::kRandom);
    options.graph_name = name;
    EXPECT_THROW(PartitionGraph(graph, options), Error) << name;
  }
  for (PartId parts : {0, -1, 1 << 20}) {
    EXPECT_THROW(PartitionGraph(graph, Options(directory, parts, PartMethod::kRandom)), Error);
  }
  EXPECT_THROW(PartMethodFromName("magic"), Error);
}

}  // namespace
}  // namespace graphd
