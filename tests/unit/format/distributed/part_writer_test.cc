// SPDX-License-Identifier: Apache-2.0
#include "format/distributed/part_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "base/file.h"
#include "base/index.h"
#include "format/arrow/c_stream.h"
#include "format/distributed/column_numbers.h"
#include "format/io/number_column.h"
#include "format/node_names.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/plan.h"
#include "format/partitioner.h"
#include "format/publish_partitions.h"
#include "tests/unit/format/arrow/arrow_source.h"
#include "tests/unit/format/files_below.h"
#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;
using testing::ArrowSpec;
using testing::Failure;
using testing::FilesBelow;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::Rows;
using testing::ScratchDirectory;
using testing::StreamOf;
using testing::TypedGraph;

constexpr int32_t kParts = 3;
constexpr uint64_t kSeed = 5;
constexpr size_t kBatchRows = 7;

template <class T>
ArrowSpec Column(const char* format, const std::vector<T>& values) {
  return {format,
          "x",
          static_cast<int64_t>(values.size()),
          {std::nullopt,
           std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))}};
}

// Returns the rows of a feature as a column; a feature of several numbers has lists.
ArrowSpec Column(const RawFeature& feature, const std::vector<size_t>& rows) {
  const size_t bytes = feature.values.row_bytes();
  const bool is_float = feature.values.dtype() == DType::kFloat32;
  std::string data;
  for (const size_t row : rows) {
    data.append(reinterpret_cast<const char*>(feature.values.data()) + row * bytes, bytes);
  }
  const auto count = static_cast<int64_t>(rows.size());
  const auto width = static_cast<int64_t>(bytes / DTypeSize(feature.values.dtype()));
  ArrowSpec items{is_float ? "f" : "l", feature.name, count * width, {std::nullopt, data}};
  if (feature.values.shape().size() == 1) return items;
  items.name = "item";
  return {"+w:" + std::to_string(width), feature.name, count, {std::nullopt}, {items}};
}

// Calls f(batch) for a table of one batch.
template <class F>
void Read(std::vector<ArrowSpec> columns, F&& f) {
  ArrowArrayStream given = StreamOf({Rows(std::move(columns))});
  const auto stream = OpenArrowStream(given, "table");
  ArrowBatch batch;
  while (stream->Next(batch)) f(batch);
}

ColumnSummary SummaryOf(ArrowSpec column) {
  ColumnSummary summary;
  ArrowArrayStream given = StreamOf({Rows({std::move(column)})});
  const auto stream = OpenArrowStream(given, "table");
  summary = graphd::SummaryOf(stream->fields()[0].type, "x");
  ArrowBatch batch;
  while (stream->Next(batch)) Summarize(batch.columns[0], "x", summary);
  return summary;
}

// Plans the features as processes that have some rows each would.
PlannedType Planned(const std::vector<RawFeature>& features, std::vector<int64_t> counts) {
  PlannedType type{std::move(counts), {}};
  for (const RawFeature& feature : features) {
    std::vector<size_t> rows(Index(feature.values.num_rows()));
    for (size_t i = 0; i < rows.size(); i++) rows[i] = i;
    ColumnSummary all;
    size_t begin = 0;
    do {
      const size_t end = std::min(rows.size(), begin + kBatchRows);
      const std::vector<size_t> piece(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                      rows.begin() + static_cast<std::ptrdiff_t>(end));
      all.Merge(SummaryOf(Column(feature, piece)), feature.name);
      begin = end;
    } while (begin < rows.size());
    type.features.push_back(all.Plan(feature.name, ""));
  }
  return type;
}

std::string Made(const std::string& directory) {
  fs::create_directories(directory);
  return directory;
}

// Returns the sums of 0 .. count - 1.
std::array<uint64_t, 3> SumsOf(uint64_t count) {
  return {count, count * (count - 1) / 2, (count - 1) * count * (2 * count - 1) / 6};
}

// The rows of a graph as tasks get them.
class Shuffled {
 public:
  explicit Shuffled(const RawGraph& graph) : graph_(graph) {
    plan_.graph_name = "g";
    plan_.part_method = "random";
    plan_.schema = graph.schema;
    for (size_t t = 0; t < graph.nodes.size(); t++) {
      const RandomAssignment assignment(kSeed, t, kParts);
      std::vector<int32_t> owners;
      std::vector<PartId> parts;
      for (uint64_t i = 0; i < static_cast<uint64_t>(graph.nodes[t].count); i++) {
        parts.push_back(assignment.OwnerOf(i));
        owners.push_back(static_cast<int32_t>(parts.back()));
      }
      numbering_.push_back(NumberNodes(parts, kParts));
      plan_.nodes.push_back(Planned(graph.nodes[t].features, numbering_.back().Counts()));
      owners_.push_back(std::move(owners));
    }
    for (size_t e = 0; e < graph.edges.size(); e++) {
      std::vector<int64_t> counts(Index(kParts), 0);
      ForEachEdge(e, [&](size_t, uint64_t, uint64_t v) { counts[Index(OwnerOfDst(e, v))]++; });
      plan_.edges.push_back(Planned(graph.edges[e].features, counts));
    }
  }

  const GraphPlan& plan() const { return plan_; }

  void AddNodes(PartWriter& writer, int32_t part, size_t t, size_t limit = SIZE_MAX) const {
    std::vector<size_t> rows;
    for (size_t i = 0; i < owners_[t].size(); i++) {
      if (owners_[t][i] == part) rows.push_back(i);
    }
    rows.resize(std::min(rows.size(), limit));
    ForEachPiece(rows, [&](const std::vector<size_t>& piece) {
      std::vector<ArrowSpec> columns{Column("l", std::vector<int64_t>(piece.begin(), piece.end()))};
      for (const RawFeature& feature : graph_.nodes[t].features) {
        columns.push_back(Column(feature, piece));
      }
      Read(columns, [&](const ArrowBatch& batch) {
        writer.AddNodes(static_cast<NodeTypeId>(static_cast<int32_t>(t)), batch);
      });
    });
  }

  void AddEdges(PartWriter& writer, int32_t part, size_t e) const {
    std::vector<std::array<int64_t, 3>> edges;  // destination, source, edge
    ForEachEdge(e, [&](size_t edge, uint64_t u, uint64_t v) {
      if (OwnerOfDst(e, v) != part) return;
      const auto src =
          numbering_[Index(static_cast<int32_t>(SrcType(e)))].new_ids.as<uint32_t>()[u];
      edges.push_back({static_cast<int64_t>(v), src, static_cast<int64_t>(edge)});
    });
    std::sort(edges.begin(), edges.end());
    ForEachPiece(edges, [&](const std::vector<std::array<int64_t, 3>>& piece) {
      std::vector<ArrowSpec> columns;
      for (size_t c = 0; c < 3; c++) {
        std::vector<int64_t> values;
        for (const auto& edge : piece) values.push_back(edge[c]);
        columns.push_back(Column("l", values));
      }
      for (const RawFeature& feature : graph_.edges[e].features) {
        std::vector<size_t> rows;
        for (const auto& edge : piece) {
          rows.push_back(Index(edge[2]) % Index(feature.values.num_rows()));
        }
        columns.push_back(Column(feature, rows));
      }
      Read(columns, [&](const ArrowBatch& batch) {
        writer.AddEdges(static_cast<EdgeTypeId>(static_cast<int32_t>(e)), batch);
      });
    });
  }

  void Write(const std::string& staging) const {
    for (int32_t p = 0; p < kParts; p++) {
      PartWriter writer(plan_, static_cast<PartId>(p), Made(staging + "/part" + std::to_string(p)));
      for (size_t t = 0; t < graph_.nodes.size(); t++) AddNodes(writer, p, t);
      for (size_t e = 0; e < graph_.edges.size(); e++) AddEdges(writer, p, e);
      writer.Finish();
      cut_ += writer.edge_cut();
      Add(writer.node_sums(), node_sums_);
      Add(writer.edge_sums(), edge_sums_);
    }
  }
  int64_t edge_cut() const { return cut_; }
  const std::vector<IdSums>& node_sums() const { return node_sums_; }
  const std::vector<IdSums>& edge_sums() const { return edge_sums_; }

 private:
  NodeTypeId SrcType(size_t e) const {
    return graph_.schema.src_type(static_cast<EdgeTypeId>(static_cast<int32_t>(e)));
  }
  int32_t OwnerOfDst(size_t e, uint64_t v) const {
    const auto etype = static_cast<EdgeTypeId>(static_cast<int32_t>(e));
    return owners_[Index(static_cast<int32_t>(graph_.schema.dst_type(etype)))][v];
  }
  static void Add(const std::vector<IdSums>& part, std::vector<IdSums>& all) {
    all.resize(part.size());
    for (size_t t = 0; t < part.size(); t++) {
      all[t].count += part[t].count;
      all[t].ids += part[t].ids;
      all[t].squares += part[t].squares;
    }
  }
  template <class F>
  void ForEachEdge(size_t e, F&& f) const {
    graph_.edges[e].ForEach(f);
  }
  template <class T, class F>
  static void ForEachPiece(const std::vector<T>& rows, F&& f) {
    for (size_t begin = 0; begin < rows.size(); begin += kBatchRows) {
      const size_t end = std::min(rows.size(), begin + kBatchRows);
      f(std::vector<T>(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                       rows.begin() + static_cast<std::ptrdiff_t>(end)));
    }
  }

  const RawGraph& graph_;
  GraphPlan plan_;
  std::vector<std::vector<int32_t>> owners_;
  std::vector<NodeNumbering> numbering_;
  mutable int64_t cut_ = 0;
  mutable std::vector<IdSums> node_sums_, edge_sums_;
};

PartitionOptions Options(const std::string& output) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = kParts;
  options.method = PartMethod::kRandom;
  options.seed = kSeed;
  options.output = output;
  return options;
}

TEST(PartWriter, WritesTheSameBytesAsPartitionGraph) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const PartitionSummary summary = PartitionGraph(graph, Options(directory / "expected"));
  const Shuffled shuffled(graph);
  shuffled.Write(directory / "found/staging");
  const std::string config =
      PublishPartitions(shuffled.plan(), {directory / "found/staging", directory / "found", false});
  EXPECT_EQ(config, directory / "found/g.json");
  EXPECT_TRUE(FilesBelow(directory / "found/staging").empty());
  EXPECT_EQ(shuffled.edge_cut(), summary.edge_cut);
  for (const auto* types : {&shuffled.plan().nodes, &shuffled.plan().edges}) {
    const bool is_edge = types == &shuffled.plan().edges;
    const std::vector<IdSums>& sums = is_edge ? shuffled.edge_sums() : shuffled.node_sums();
    ASSERT_EQ(sums.size(), types->size());
    for (size_t t = 0; t < sums.size(); t++) {
      EXPECT_EQ((std::array{sums[t].count, sums[t].ids, sums[t].squares}),
                SumsOf(static_cast<uint64_t>((*types)[t].count())));
    }
  }
  const auto expected = FilesBelow(directory / "expected"), found = FilesBelow(directory / "found");
  EXPECT_EQ(expected.size(), found.size());
  for (const auto& [name, bytes] : expected) EXPECT_TRUE(found.at(name) == bytes) << name;
}

TEST(PartWriter, ATaskThatIsRepeatedWritesTheSameFiles) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  shuffled.Write(directory / "staging");
  const auto first = FilesBelow(directory / "staging");
  {
    // A task that is interrupted leaves what another one has written.
    PartWriter interrupted(shuffled.plan(), static_cast<PartId>(1), directory / "staging/part1");
    shuffled.AddNodes(interrupted, 1, 0);
  }
  EXPECT_TRUE(FilesBelow(directory / "staging") == first);
  shuffled.Write(directory / "staging");
  EXPECT_TRUE(FilesBelow(directory / "staging") == first);
}

TEST(PartWriter, PartitionsWithoutRowsAreWritten) {
  const ScratchDirectory directory;
  RawGraph graph = TypedGraph(40, 61, 3);
  for (size_t t = 0; t < 2; t++) {
    graph.nodes[t].count = 0;
    for (RawFeature& feature : graph.nodes[t].features) {
      feature.values = Tensor::Empty(feature.values.dtype(), {0});
    }
  }
  for (RawEdges& edges : graph.edges) {
    edges.src = edges.dst = Tensor::Empty(DType::kUInt32, {0});
    for (RawFeature& feature : edges.features) feature.values = Tensor::Empty(DType::kFloat32, {0});
  }
  PartitionGraph(graph, Options(directory / "expected"));
  Shuffled shuffled(graph);
  GraphPlan plan = shuffled.plan();
  // There is no row that would tell the dtypes.
  for (size_t t = 0; t < 2; t++) {
    for (size_t f = 0; f < graph.nodes[t].features.size(); f++) {
      plan.nodes[t].features[f].encoding =
          Encoding::Plain(graph.nodes[t].features[f].values.dtype());
    }
  }
  for (auto& edges : plan.edges) {
    for (auto& feature : edges.features) feature.encoding = Encoding::Plain(DType::kFloat32);
  }
  for (int32_t p = 0; p < kParts; p++) {
    PartWriter(plan, static_cast<PartId>(p), Made(directory / ("staging/part" + std::to_string(p))))
        .Finish();
  }
  for (const auto& [name, bytes] : FilesBelow(directory / "staging")) {
    EXPECT_TRUE(ReadTextFile(directory / ("expected/" + name)) == bytes) << name;
  }
}

TEST(PartWriter, RowsInAnotherOrderAreRefused) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  PartWriter writer(shuffled.plan(), static_cast<PartId>(0), Made(directory / "part0"));
  shuffled.AddNodes(writer, 0, 0);
  auto [code, message] = Failure([&] { shuffled.AddNodes(writer, 0, 0); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("nodes of type 'author'"));
  shuffled.AddNodes(writer, 0, 1);
  shuffled.AddEdges(writer, 0, 1);
  shuffled.AddEdges(writer, 0, 2);
  std::tie(code, message) = Failure([&] { shuffled.AddEdges(writer, 0, 1); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("came after a later type"));
}

TEST(PartWriter, RowsThatWereNotCountedAreRefused) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  {
    PartWriter writer(shuffled.plan(), static_cast<PartId>(0), Made(directory / "part0"));
    shuffled.AddNodes(writer, 0, 0);
    shuffled.AddNodes(writer, 0, 1, 5);
    const auto [code, message] = Failure([&] { shuffled.AddEdges(writer, 0, 1); });
    EXPECT_EQ(code, ErrorCode::kInvalid);
    EXPECT_THAT(message, HasSubstr("got 5, but counted"));
  }
  PartWriter writer(shuffled.plan(), static_cast<PartId>(0), Made(directory / "part0"));
  for (size_t t = 0; t < 2; t++) shuffled.AddNodes(writer, 0, t);
  shuffled.AddEdges(writer, 0, 1);
  const auto [code, message] = Failure([&] { writer.Finish(); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("write it to files"));
  EXPECT_FALSE(fs::exists(directory / "part0/partition.json"));
}

// Appends one edge of the type 1 without features.
void AddEdge(PartWriter& writer, int64_t dst, int64_t src, int64_t edge) {
  Read({Numbers<int64_t>("l", "dst", {dst}), Numbers<int64_t>("l", "src", {src}),
        Numbers<int64_t>("l", "edge", {edge})},
       [&](const ArrowBatch& batch) { writer.AddEdges(static_cast<EdgeTypeId>(0), batch); });
}

TEST(PartWriter, IdsThatTheGraphDoesNotHaveAreRefused) {
  const ScratchDirectory directory;
  GraphPlan plan;
  plan.graph_name = "g";
  plan.part_method = "file";
  plan.schema = Schema({"n"}, {{"n", "e", "n"}});
  plan.nodes = {{{2, 1}, {}}};
  plan.edges = {{{1, 1}, {}}};
  PartWriter writer(plan, static_cast<PartId>(0), Made(directory / "part0"));
  const auto add_node = [&](int64_t id) {
    return Failure([&] {
      Read({Numbers<int64_t>("l", "id", {id})},
           [&](const ArrowBatch& batch) { writer.AddNodes(static_cast<NodeTypeId>(0), batch); });
    });
  };
  add_node(1);
  const auto node = add_node(3);
  EXPECT_EQ(node.first, ErrorCode::kInvalid);
  EXPECT_THAT(node.second, HasSubstr("node 3 follows 1; expected ascending ids below 3"));
  add_node(2);
  const auto edge = Failure([&] { AddEdge(writer, 1, 0, 2); });
  EXPECT_EQ(edge.first, ErrorCode::kInvalid);
  EXPECT_THAT(edge.second, HasSubstr("edges below 2"));
}

TEST(PartWriter, WideListsAreWrittenInPieces) {
  const ScratchDirectory directory;
  constexpr size_t kRows = 5, kWidth = size_t{1} << 19;
  GraphPlan plan;
  plan.graph_name = "g";
  plan.part_method = "file";
  plan.schema = Schema({"n"}, {{"n", "e", "n"}});
  plan.nodes = {{{kRows}, {{"x", kWidth, Encoding::Plain(DType::kFloat32)}}}};
  plan.edges = {{{0}, {}}};
  const auto write = [&](const std::string& name, size_t batch_rows) {
    PartWriter writer(plan, static_cast<PartId>(0), Made(directory / name));
    for (size_t begin = 0; begin < kRows; begin += batch_rows) {
      const size_t end = std::min(kRows, begin + batch_rows);
      std::vector<int64_t> ids;
      std::vector<float> items;
      for (size_t row = begin; row < end; row++) {
        ids.push_back(static_cast<int64_t>(row));
        for (size_t i = 0; i < kWidth; i++) items.push_back(static_cast<float>(row * kWidth + i));
      }
      ArrowSpec lists{"+w:" + std::to_string(kWidth),
                      "x",
                      static_cast<int64_t>(end - begin),
                      {std::nullopt},
                      {Column("f", items)}};
      Read({Column("l", ids), lists},
           [&](const ArrowBatch& batch) { writer.AddNodes(static_cast<NodeTypeId>(0), batch); });
    }
    writer.Finish();
    return FilesBelow(directory / name);
  };
  const auto at_once = write("at_once", kRows), by_row = write("by_row", 1);
  EXPECT_GT(at_once.at("node_feat.seg").size(), kRows * kWidth * sizeof(float));
  EXPECT_TRUE(at_once == by_row);
}

TEST(PartWriter, ADirectoryThatWasRemovedIsNotMadeAgain) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  const auto [code, message] = Failure(
      [&] { PartWriter(shuffled.plan(), static_cast<PartId>(0), directory / "staging/part0"); });
  EXPECT_EQ(code, ErrorCode::kNotFound) << message;
  EXPECT_FALSE(fs::exists(directory / "staging"));
}

TEST(PartWriter, EdgesOfOtherPartitionsAreRefused) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  PartWriter writer(shuffled.plan(), static_cast<PartId>(0), Made(directory / "part0"));
  for (size_t t = 0; t < 2; t++) shuffled.AddNodes(writer, 0, t);
  const auto [code, message] = Failure([&] { shuffled.AddEdges(writer, 1, 1); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("which the partition does not own"));
}

TEST(PublishPartitions, APartitionThatIsMissingLeavesTheOldGraph) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  PartitionGraph(graph, Options(directory / "out"));
  const auto before = FilesBelow(directory / "out");
  const Shuffled shuffled(graph);
  shuffled.Write(directory / "staging");
  fs::remove(directory / "staging/part2/partition.json");
  const PublishOptions options{directory / "staging", directory / "out", true};
  const auto [code, message] = Failure([&] { PublishPartitions(shuffled.plan(), options); });
  EXPECT_EQ(code, ErrorCode::kNotFound) << message;
  EXPECT_TRUE(FilesBelow(directory / "out") == before);
  const auto existing = Failure([&] {
    CheckPublishing(shuffled.plan(), {"", directory / "out", false});
  });
  EXPECT_EQ(existing.first, ErrorCode::kExists) << existing.second;
}

TEST(PublishPartitions, OnlyFilesOfTheGraphAreMoved) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  shuffled.Write(directory / "staging");
  const std::string names = NodeNamesFileName("g", graph.schema.ntype(0));
  WriteFileAtomically(directory / ("staging/" + names), "a");
  WriteFileAtomically(directory / "staging/g.another.ids.txt.gz", "b");
  WriteFileAtomically(directory / "staging/graphd-spark-run", "c");
  PublishPartitions(shuffled.plan(), {directory / "staging", directory / "out", false});
  EXPECT_TRUE(fs::exists(directory / "out/g.json"));
  EXPECT_TRUE(fs::exists(directory / ("out/" + names)));
  EXPECT_FALSE(fs::exists(directory / "out/g.another.ids.txt.gz"));
  // The directory is removed by its owner, who still has a lock on a file there.
  EXPECT_TRUE(fs::exists(directory / "staging/graphd-spark-run"));
}

TEST(PublishPartitions, WhatWasNotMovedIsKept) {
  const ScratchDirectory directory;
  const RawGraph graph = TypedGraph(40, 61, 3);
  const Shuffled shuffled(graph);
  shuffled.Write(directory / "staging");
  Made(directory / "out");
  WriteFileAtomically(directory / "out/part1", "a file in the place of a directory");
  const auto [code, message] = Failure([&] {
    PublishPartitions(shuffled.plan(), {directory / "staging", directory / "out", false});
  });
  EXPECT_EQ(code, ErrorCode::kIo) << message;
  EXPECT_FALSE(fs::exists(directory / "out/g.json"));
  for (const char* part : {"part1", "part2"}) {
    EXPECT_TRUE(fs::exists(directory / (std::string("staging/") + part + "/partition.json")))
        << part;
  }
}

TEST(CheckPublishing, ImpossibleGraphsAreRefusedBeforeTheyAreCounted) {
  const ScratchDirectory directory;
  GraphPlan plan;
  plan.graph_name = "g";
  plan.part_method = "random";
  plan.schema = Schema({"n"}, {{"n", "e", "n"}});
  plan.nodes = {{{0, 0}, {{"x", 0, Encoding::Plain(DType::kInt64)}}}};
  plan.edges = {{{0, 0}, {}}};
  const PublishOptions options{"", directory / "out", false};
  CheckPublishing(plan, options);
  plan.nodes[0].features[0].name = kOrigId;
  const auto [code, message] = Failure([&] { CheckPublishing(plan, options); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("rename"));
}

TEST(ColumnSummary, PartsDetermineTheDtypeInAnyOrder) {
  const ColumnSummary few = SummaryOf(Numbers<int32_t>("i", "x", {0, 1}));
  const ColumnSummary large = SummaryOf(Numbers<int64_t>("l", "x", {70000}));
  const ColumnSummary missing = SummaryOf({"n", "x", 2, {}});
  const ColumnSummary fine = SummaryOf(Numbers<double>("g", "x", {0.1234567891}));
  const auto plan = [](std::vector<ColumnSummary> parts, const std::string& name = "x") {
    ColumnSummary all;
    for (const ColumnSummary& part : parts) all.Merge(part, "x");
    return all.Plan(name, "").encoding;
  };
  EXPECT_EQ(plan({few}).dtype, DType::kInt64);
  EXPECT_EQ(plan({few}).stored, DType::kUInt8);
  EXPECT_EQ(plan({few}, "train_mask").dtype, DType::kUInt8);
  EXPECT_EQ(plan({large, few}, "train_mask").dtype, DType::kInt64);
  EXPECT_EQ(plan({few, large}).stored, DType::kUInt32);
  EXPECT_EQ(plan({few, missing}).dtype, DType::kFloat32);
  EXPECT_EQ(plan({missing, few}).stored, DType::kFloat32);
  EXPECT_EQ(plan({fine, few}).dtype, DType::kFloat64);
  EXPECT_EQ(plan({few, fine}).dtype, DType::kFloat64);
}

TEST(ColumnSummary, UnsignedNumbersBeyondInt64CountAsThoseOfFiles) {
  constexpr uint64_t kLarge = 10'000'000'000'000'000'000U;
  for (const uint64_t value : {kLarge, kLarge + 1, uint64_t{1} << 63, UINT64_MAX}) {
    NumberColumn column;
    column.AppendUnsigned(value);
    const DType wanted = std::move(column).Finish({1}, false).dtype();
    EXPECT_EQ(SummaryOf(Numbers<uint64_t>("L", "x", {value})).Plan("x", "").encoding.dtype, wanted)
        << value;
  }
  // The scale of int8 is that of the largest number.
  const Encoding encoding =
      SummaryOf(Numbers<uint64_t>("L", "x", {1, kLarge})).Plan("x", "int8").encoding;
  EXPECT_EQ(encoding.scale, static_cast<float>(kLarge) / 127);
}

TEST(ColumnSummary, NumbersThatThePlanDoesNotAllowAreRefused) {
  const PlannedFeature planned = SummaryOf(Numbers<int32_t>("i", "x", {0, 255})).Plan("x", "");
  EXPECT_EQ(planned.encoding.stored, DType::kUInt8);
  std::vector<std::byte> numbers;
  const auto append = [&](ArrowSpec column) {
    return Failure([&] {
      Read({std::move(column)}, [&](const ArrowBatch& batch) {
        AppendNumbers(batch.columns[0], 0, batch.rows, planned, numbers);
      });
    });
  };
  append(Numbers<int64_t>("l", "x", {7, 255}));
  EXPECT_EQ(numbers.size(), 2 * sizeof(int64_t));
  for (ArrowSpec column : {Numbers<int32_t>("i", "x", {256}), Numbers<int32_t>("i", "x", {-1}),
                           Numbers<double>("g", "x", {1}), ArrowSpec{"n", "x", 1, {}}}) {
    const auto [code, message] = append(std::move(column));
    EXPECT_EQ(code, ErrorCode::kInvalid) << message;
    EXPECT_THAT(message, HasSubstr("write it to files"));
  }
}

TEST(ColumnSummary, WholeNumbersAreRoundedAsThoseOfFiles) {
  // It is nearer to the larger one of two numbers of float32; rounded to double, it is between
  // them.
  constexpr int64_t kTie = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  const PlannedFeature planned{"x", 0, Encoding::Plain(DType::kFloat32)};
  std::vector<std::byte> numbers;
  Read({Numbers<int64_t>("l", "x", {kTie})},
       [&](const ArrowBatch& batch) { AppendNumbers(batch.columns[0], 0, 1, planned, numbers); });
  float found = 0;
  ASSERT_EQ(numbers.size(), sizeof found);
  std::memcpy(&found, numbers.data(), sizeof found);
  EXPECT_EQ(found, static_cast<float>(static_cast<double>(kTie)));
  EXPECT_NE(found, static_cast<float>(kTie));
}

TEST(ColumnSummary, AListOfAnotherLengthIsRefusedBeforeRoomIsMade) {
  // If each row had as many numbers as the plan says, they would take 40 GiB.
  constexpr int64_t kRows = 10'000;
  const PlannedFeature planned{"x", kMaxListSize, Encoding::Plain(DType::kFloat32)};
  const std::vector<float> items(Index(kRows), 1);
  ArrowSpec lists{"+w:1", "x", kRows, {std::nullopt}, {Column("f", items)}};
  std::vector<std::byte> numbers;
  const auto [code, message] = Failure([&] {
    Read({lists}, [&](const ArrowBatch& batch) {
      AppendNumbers(batch.columns[0], 0, batch.rows, planned, numbers);
    });
  });
  EXPECT_EQ(code, ErrorCode::kInvalid) << message;
  EXPECT_THAT(message, HasSubstr("same length"));
  EXPECT_EQ(numbers.capacity(), 0u);
}

TEST(ColumnSummary, ColumnsWithoutNumbersAreRefused) {
  const auto [code, message] = Failure([] { SummaryOf(testing::Texts("x", {"a"})); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("StringIndexer"));
}

TEST(ColumnSummary, ListsOfDifferentLengthsAreRefused) {
  ColumnSummary two, three;
  two.is_list = three.is_list = true;
  two.list_size = 2;
  three.list_size = 3;
  const auto [code, message] = Failure([&] { two.Merge(three, "x"); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("same length"));
}

}  // namespace
}  // namespace graphd
