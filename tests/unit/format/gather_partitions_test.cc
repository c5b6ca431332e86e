// SPDX-License-Identifier: Apache-2.0
#include "format/gather_partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/index.h"
#include "fixture_files.h"
#include "format/convert.h"
#include "format/label_texts.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "format/verify.h"
#include "hand_made.h"
#include "raw_graph_checks.h"
#include "raw_graph_samples.h"

namespace graphd {
namespace {

using test::CopyUnpacked;
using test::HandMade;
using test::TempFolder;
using testing::Failure;
using testing::FeatureOf;
using ::testing::HasSubstr;

// Calls f with the part config and the unpacked folder of every fixture.
template <class F>
void ForEachFixture(F&& f) {
  int count = 0;
  for (const std::string& fixture : test::FindFixtures(test::SourceFixtureRoot())) {
    TempFolder folder;
    CopyUnpacked(fixture, folder.path());
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      const std::filesystem::path path = entry.path();
      if (path.extension() != ".json" || path.stem() == "expected") continue;
      SCOPED_TRACE(fixture);
      f(LoadPartConfig(path.string()), folder);
      count++;
    }
  }
  EXPECT_GE(count, 15);
}

bool SameRow(const Tensor& a, int64_t row_a, const Tensor& b, int64_t row_b) {
  const size_t bytes = a.row_bytes();
  return a.dtype() == b.dtype() && bytes == b.row_bytes() &&
         std::memcmp(a.data() + static_cast<size_t>(row_a) * bytes,
                     b.data() + static_cast<size_t>(row_b) * bytes, bytes) == 0;
}

// Compares the gathered graph with one partition, using the book.
int64_t CompareWithPartition(const RawGraph& graph, const Partition& part) {
  const PartitionBook& book = part.meta().book;
  int64_t wrong = 0;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    for (const FeatureInfo& info : part.node_features(t)) {
      const Tensor& all = FeatureOf(graph.nodes[static_cast<size_t>(t)].features, info.name);
      const Tensor rows = part.node_feature(t, info.name).ReadAll();
      for (int64_t row = 0; row < part.num_inner_nodes(t); row++) {
        const int64_t id = book.nodes().FromLocalRow(part.id(), t, row);
        wrong += !SameRow(all, id, rows, row);
      }
    }
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const auto ends = testing::EndsOf(graph.edges[static_cast<size_t>(e)]);
    const Csc& csc = part.csc(e);
    for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
      const int64_t dst =
          book.nodes().FromLocalRow(part.id(), graph.schema.dst_type(e), static_cast<int64_t>(v));
      for (uint64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; i++) {
        const auto row = static_cast<int64_t>(csc.edge_rows ? (*csc.edge_rows)[i] : i);
        const auto id = static_cast<size_t>(book.edges().FromLocalRow(part.id(), e, row));
        wrong += ends[id] != std::pair<uint64_t, uint64_t>(csc.indices[i], dst);
      }
    }
  }
  return wrong;
}

TEST(GatherPartitions, EveryNodeAndEdgeKeepsItsFeatures) {
  const HandMade made({{40, 0, 25}, {7, 30, 1}}, 60, 5);
  for (const bool shuffled : {false, true}) {
    TempFolder folder;
    made.Write(folder.path(), test::kCoo, false, shuffled);
    const RawGraph graph = GatherPartitions(LoadPartConfig(folder / "hand.json"));
    ASSERT_EQ(graph.nodes[0].count, 65);
    size_t compared = 0;
    for (const HandMade::Edge& edge : made.edges()) {
      const auto e = static_cast<size_t>(edge.etype);
      const auto id = static_cast<size_t>(edge.id);
      EXPECT_EQ(testing::EndsOf(graph.edges[e])[id],
                (std::pair<uint64_t, uint64_t>(edge.src, edge.dst)));
      EXPECT_EQ(FeatureOf(graph.edges[e].features, "id").as<int64_t>()[id], edge.id);
      compared++;
    }
    EXPECT_GT(compared, 100u);
    for (const RawNodes& nodes : graph.nodes) {
      const auto ids = FeatureOf(nodes.features, "id").as<int64_t>();
      for (size_t i = 0; i < ids.size(); i++) EXPECT_EQ(ids[i], static_cast<int64_t>(i));
    }
  }
}

TEST(GatherPartitions, DglsPartitionsOfAnyVersionAreGathered) {
  ForEachFixture([](const PartConfig& config, const TempFolder&) {
    const RawGraph graph = GatherPartitions(config);
    for (PartId p = 0; p < config.meta->book.num_partitions(); p++) {
      EXPECT_EQ(CompareWithPartition(graph, *LoadPartition(config, p)), 0);
    }
  });
}

// Expects every node and edge of `made` to equal that of `graph` with the id in its orig_id.
void ExpectSameByOriginalIds(const RawGraph& graph, const RawGraph& made) {
  for (size_t t = 0; t < graph.nodes.size(); t++) {
    ASSERT_EQ(made.nodes[t].count, graph.nodes[t].count);
    const Tensor& feat = FeatureOf(made.nodes[t].features, "feat");
    const Tensor& wanted = FeatureOf(graph.nodes[t].features, "feat");
    for (int64_t i = 0; i < made.nodes[t].count; i++) {
      EXPECT_TRUE(SameRow(feat, i, wanted, made.nodes[t].OriginalId(static_cast<uint64_t>(i))));
    }
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const RawEdges& edges = made.edges[static_cast<size_t>(e)];
    const RawNodes& src = made.nodes[static_cast<size_t>(graph.schema.src_type(e))];
    const RawNodes& dst = made.nodes[static_cast<size_t>(graph.schema.dst_type(e))];
    const auto wanted = testing::EndsOf(graph.edges[static_cast<size_t>(e)]);
    ASSERT_EQ(edges.count(), static_cast<int64_t>(wanted.size()));
    edges.ForEach([&](size_t i, uint64_t u, uint64_t v) {
      EXPECT_EQ(wanted[static_cast<size_t>(edges.OriginalId(i))],
                (std::pair<uint64_t, uint64_t>(src.OriginalId(u), dst.OriginalId(v))));
    });
  }
}

TEST(GatherPartitions, PartitioningAgainKeepsTheIdsOfTheFirstInput) {
  const RawGraph typed = testing::TypedGraph(60, 90, 3);
  const RawGraph reversed =
      testing::HomogeneousGraph(80, testing::RandomMultigraph(80, 300, 9), /*add_reverse=*/true);
  for (const RawGraph* graph : {&typed, &reversed}) {
    TempFolder folder;
    PartitionOptions options;
    options.graph_name = "g";
    options.num_parts = 3;
    options.method = PartMethod::kRandom;
    options.output = folder / "first";
    const PartitionSummary first = PartitionGraph(*graph, options);
    const RawGraph gathered = GatherPartitions(LoadPartConfig(first.part_config));
    ASSERT_TRUE(gathered.nodes[0].orig_id.has_value());
    options.num_parts = 4;
    options.seed = 7;
    options.output = folder / "second";
    const PartitionSummary second = PartitionGraph(gathered, options);
    ExpectSameByOriginalIds(*graph, GatherPartitions(LoadPartConfig(second.part_config)));
  }
}

TEST(GatherPartitions, NodeNamesAreCopiedIfOrigIdRefersToThem) {
  RawGraph graph = testing::TypedGraph(20, 30, 3);
  NameTable names;
  for (int i = 0; i < graph.nodes[0].count; i++) names.Add("node " + std::to_string(i));
  graph.nodes[0].names = std::make_shared<const NameTable>(std::move(names));
  const std::string type = graph.schema.ntype(0), other = graph.schema.ntype(1);
  TempFolder folder;
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 2;
  options.method = PartMethod::kRandom;
  options.format = PartFormat::kDgl;
  options.output = folder / "first";
  const PartConfig first = LoadPartConfig(PartitionGraph(graph, options).part_config);
  const std::string written = ReadTextFile(folder / ("first/g." + type + ".ids.txt.gz"));
  options.graph_name = "again";
  options.num_parts = 3;
  options.format = PartFormat::kNative;
  options.output = folder / "second";
  PartitionGraph(GatherPartitions(first), options);
  EXPECT_EQ(ReadTextFile(folder / ("second/again." + type + ".ids.txt.gz")), written);
  EXPECT_FALSE(FileExists(folder / ("second/again." + other + ".ids.txt.gz")));
  ConvertPartitions(first, folder / "third", false);
  EXPECT_EQ(ReadTextFile(folder / ("third/g." + type + ".ids.txt.gz")), written);
  EXPECT_FALSE(FileExists(folder / ("third/g." + other + ".ids.txt.gz")));
}

TEST(GatherPartitions, TextsOfLabelsAreCopied) {
  RawGraph graph = testing::TypedGraph(20, 30, 3);
  const auto add_labels = [](std::vector<RawFeature>& features, int64_t count, const char* text) {
    Tensor values = Tensor::Empty(DType::kInt64, {count});
    for (int64_t i = 0; i < count; i++) values.as<int64_t>()[Index(i)] = i % 2;
    NameTable texts;
    texts.Add(text);
    texts.Add("other");
    auto labels = std::make_shared<const NameTable>(std::move(texts));
    features.push_back({"kind", std::move(values), std::move(labels)});
  };
  add_labels(graph.nodes[0].features, graph.nodes[0].count, "node");
  add_labels(graph.edges[1].features, graph.edges[1].stored(), "edge");
  const std::string of_nodes = "." + graph.schema.ntype(0) + ".kind.labels.txt.gz";
  const std::string of_edges = "." + graph.schema.etype(1).ToString() + ".kind.labels.txt.gz";
  TempFolder folder;
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 2;
  options.method = PartMethod::kRandom;
  options.format = PartFormat::kDgl;
  options.output = folder / "first";
  const PartConfig first = LoadPartConfig(PartitionGraph(graph, options).part_config);
  WriteFileAtomically(folder / "first/another._N.kind.labels.txt.gz", "of another graph");
  // A graph "g.node-type" may have a type "kind".
  WriteFileAtomically(folder / ("first/g." + graph.schema.ntype(0) + ".kind.x.labels.txt.gz"),
                      "of another graph");
  EXPECT_EQ(ListLabelTexts(first), (std::vector<std::string>{folder / ("first/g" + of_nodes),
                                                             folder / ("first/g" + of_edges)}));
  const std::string nodes = ReadTextFile(folder / ("first/g" + of_nodes));
  const std::string edges = ReadTextFile(folder / ("first/g" + of_edges));
  EXPECT_NE(nodes, edges);
  options.graph_name = "again";
  options.num_parts = 3;
  options.format = PartFormat::kNative;
  options.output = folder / "second";
  const PartitionSummary summary = PartitionGraph(GatherPartitions(first), options);
  EXPECT_EQ(summary.label_texts.size(), 2u);
  EXPECT_EQ(ReadTextFile(folder / ("second/again" + of_nodes)), nodes);
  EXPECT_EQ(ReadTextFile(folder / ("second/again" + of_edges)), edges);
  ConvertPartitions(first, folder / "third", false);
  EXPECT_EQ(ReadTextFile(folder / ("third/g" + of_nodes)), nodes);
  EXPECT_EQ(ReadTextFile(folder / ("third/g" + of_edges)), edges);
  EXPECT_FALSE(FileExists(folder / "third/another._N.kind.labels.txt.gz"));
}

TEST(GatherPartitions, NodeNamesAreNotCopiedWithoutOrigId) {
  const HandMade made({{4, 5}, {6, 7}}, 12, 5);
  TempFolder folder;
  made.Write(folder.path());
  const PartConfig config = LoadPartConfig(folder / "hand.json");
  const std::string type = config.meta->schema.ntype(0);
  WriteFileAtomically(folder / ("hand." + type + ".ids.txt.gz"), "of another graph");
  EXPECT_EQ(GatherPartitions(config).nodes[0].names_file, "");
}

TEST(GatherPartitions, APartitionThatLacksAFeatureOrAFileIsNamed) {
  const HandMade made({{4, 5}, {6, 7}}, 12, 5);
  TempFolder folder;
  made.Write(folder.path());
  const PartConfig config = LoadPartConfig(folder / "hand.json");
  std::vector<test::Column> columns = made.NodeFeatures(1, made.Graph(1));
  columns.pop_back();
  test::WriteAll(config.parts[1].node_feats, test::EncodeDict(columns));
  auto [code, message] = Failure([&] { GatherPartitions(config); });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("a partition lacks it"));
  std::filesystem::remove(config.parts[1].part_graph);
  std::tie(code, message) = Failure([&] { GatherPartitions(config); });
  EXPECT_EQ(code, ErrorCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("part1"));
}

TEST(ConvertPartitions, NativePartitionsHaveTheSameIdsAndFeatures) {
  int converted = 0;
  ForEachFixture([&](const PartConfig& config, const TempFolder& folder) {
    const std::string output = folder / "native";
    if (!config.meta->book.nodes().is_range()) {
      const auto [code, message] = Failure([&] { ConvertPartitions(config, output, false); });
      EXPECT_EQ(code, ErrorCode::kInvalid);
      EXPECT_THAT(message, HasSubstr("graphctl partition"));
      return;
    }
    const PartitionSummary summary = ConvertPartitions(config, output, false);
    const PartConfig native = LoadPartConfig(summary.part_config);
    EXPECT_EQ(native.format, PartFormat::kNative);
    EXPECT_EQ(native.meta->part_method, config.meta->part_method);
    EXPECT_EQ(native.meta->halo_hops, config.meta->halo_hops);
    const RawGraph graph = GatherPartitions(config);
    for (PartId p = 0; p < config.meta->book.num_partitions(); p++) {
      EXPECT_EQ(CompareWithPartition(graph, *LoadPartition(native, p)), 0);
    }
    const VerifyReport report = VerifyGraph(native, {});
    EXPECT_TRUE(report.ok());
    for (const auto& part : report.parts) EXPECT_THAT(part.problems, ::testing::IsEmpty());
    converted++;
  });
  EXPECT_GE(converted, 14);
}

TEST(ConvertPartitions, ExistingFilesAreNotOverwritten) {
  const HandMade made({{4, 5}, {6, 7}}, 12, 5);
  TempFolder folder;
  made.Write(folder.path());
  const PartConfig config = LoadPartConfig(folder / "hand.json");
  EXPECT_EQ(Failure([&] { ConvertPartitions(config, folder.path(), true); }).first,
            ErrorCode::kInvalid);
  ConvertPartitions(config, folder / "out", false);
  EXPECT_EQ(Failure([&] { ConvertPartitions(config, folder / "out", false); }).first,
            ErrorCode::kExists);
  EXPECT_GT(ConvertPartitions(config, folder / "out", true).edge_cut, 0);
}

}  // namespace
}  // namespace graphd
