// SPDX-License-Identifier: Apache-2.0
#include "format/input/column_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "format/arrow/c_stream.h"
#include "format/input/graph_files.h"
#include "tests/unit/format/arrow/arrow_source.h"
#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using testing::ArrowSpec;
using testing::BytesOf;
using ::testing::ElementsAre;
using testing::Ends;
using testing::EndsOf;
using testing::Failure;
using testing::FeatureOf;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::Rows;
using testing::ScratchDirectory;
using testing::Texts;
using testing::WriteText;

// Tables in memory.
class Tables final : public ColumnFiles {
 public:
  std::unique_ptr<ArrowStream> Sample(const std::string& path, int64_t) override {
    return Open(tables.at(path));
  }
  std::unique_ptr<ArrowStream> Read(const std::string& path,
                                    const std::vector<std::string>& columns) override {
    read = columns;
    std::vector<ArrowSpec> batches = tables.at(path);
    for (ArrowSpec& batch : batches) {
      std::vector<ArrowSpec> kept;
      for (const std::string& name : columns) {
        kept.push_back(*std::find_if(batch.children.begin(), batch.children.end(),
                                     [&](const ArrowSpec& c) { return c.name == name; }));
      }
      batch.children = kept;
    }
    return Open(batches);
  }
  std::map<std::string, std::vector<ArrowSpec>> tables;
  std::vector<std::string> read;  // the columns that were read last

 private:
  static std::unique_ptr<ArrowStream> Open(const std::vector<ArrowSpec>& batches) {
    ArrowArrayStream stream = testing::StreamOf(batches);
    return OpenArrowStream(stream, "table");
  }
};

class ColumnTablesTest : public ::testing::Test {
 protected:
  ColumnTablesTest() { options_.column_files = &tables_; }

  // Adds --edges and --nodes options for new tables.
  void Edges(const std::string& key, std::vector<ArrowSpec> batches) {
    const std::string path = Add(std::move(batches));
    options_.edges.push_back(ParseEdgeFile(key + (key.empty() ? "" : "=") + path));
  }
  void Nodes(const std::string& key, std::vector<ArrowSpec> batches) {
    options_.nodes.push_back(ParseNodeFile(key + "=" + Add(std::move(batches))));
  }
  RawGraph Read() { return ReadGraphFiles(options_); }
  std::string Complaint(ErrorCode code) {
    auto [got, message] = Failure([&] { Read(); });
    EXPECT_EQ(got, code) << message;
    options_.edges.clear();
    options_.nodes.clear();
    return message;
  }
  std::string Add(std::vector<ArrowSpec> batches) {
    const std::string path =
        directory_ / ("t" + std::to_string(tables_.tables.size()) + ".parquet");
    WriteText(path, "PAR1");
    tables_.tables[path] = std::move(batches);
    return path;
  }

  ScratchDirectory directory_;
  Tables tables_;
  GraphFilesOptions options_;
};

std::string NameOf(const RawNodes& nodes, uint64_t id) {
  return std::string(nodes.names->name(id));
}

TEST_F(ColumnTablesTest, IntegersAreIdsAndOtherColumnsAreFeatures) {
  const auto rows = [](std::initializer_list<uint8_t> src, std::initializer_list<int32_t> dst) {
    return Rows({Numbers<uint8_t>("C", "src", src), Numbers<int32_t>("i", "dst", dst),
                 Numbers<double>("g", "w", {0.5, 2})});
  };
  Edges("", {rows({0, 1}, {1, 2}), rows({2, 2}, {0, 2})});
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {1, 2}, {2, 0}, {2, 2}}));
  EXPECT_EQ(graph.nodes[0].count, 3);
  EXPECT_EQ(graph.nodes[0].names, nullptr);
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "w").as<float>(), ElementsAre(0.5, 2, 0.5, 2));
}

TEST_F(ColumnTablesTest, TextsAreNamesInTheOrderOfTheRows) {
  Edges("", {Rows({Texts("src", {"c", "b"}), Texts("dst", {"a", "c"})})});
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {2, 0}}));
  EXPECT_EQ(NameOf(graph.nodes[0], 0), "c");
  EXPECT_EQ(NameOf(graph.nodes[0], 1), "a");
}

TEST_F(ColumnTablesTest, DictionariesAreIdsOfTheirValues) {
  ArrowSpec src = Numbers<int8_t>("c", "src", {1, 1, 0});
  src.dictionary = std::make_shared<ArrowSpec>(Texts("", {"x", "y"}));
  Edges("", {Rows({src, Texts("dst", {"x", "z", "y"})})});
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {0, 2}, {1, 0}}));
  EXPECT_EQ(NameOf(graph.nodes[0], 0), "y");
}

TEST_F(ColumnTablesTest, TextsThatAreNumbersAreIdsAsInText) {
  Edges("", {Rows({Texts("src", {"1", "02"}), Numbers<int64_t>("l", "dst", {0, 1})})});
  EXPECT_EQ(EndsOf(Read().edges[0]), (Ends{{1, 0}, {2, 1}}));
}

TEST_F(ColumnTablesTest, NumbersBesideNamesAreNames) {
  Edges("", {Rows({Texts("src", {"a"}), Numbers<int64_t>("l", "dst", {-7})})});
  const RawGraph graph = Read();
  EXPECT_EQ(NameOf(graph.nodes[0], 1), "-7");
}

TEST_F(ColumnTablesTest, OnlyTheColumnsThatAreUsedAreRead) {
  options_.src_column = "from";
  options_.dst_column = "0";
  options_.feature_columns = {"w"};
  Edges("", {Rows({Numbers<int32_t>("i", "to", {1}), Numbers<int32_t>("tdD", "day", {1}),
                   Numbers<int32_t>("i", "w", {7}), Numbers<int32_t>("i", "from", {0})})});
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}}));
  EXPECT_THAT(tables_.read, ElementsAre("to", "w", "from"));
  EXPECT_EQ(graph.edges[0].features.size(), 1u);
}

TEST_F(ColumnTablesTest, NodesAreOrderedByTheirIds) {
  const ArrowSpec items = Numbers<float>("f", "item", {1, 2, 3, 4, 5, 6});
  Edges("u:r:u", {Rows({Numbers<int32_t>("i", "a", {0}), Numbers<int32_t>("i", "b", {2})})});
  Nodes("u", {Rows({Numbers<int32_t>("i", "id", {2, 0, 1}),
                    {"+l", "feat", 3, {std::nullopt, BytesOf<int32_t>({0, 2, 4, 6})}, {items}},
                    Numbers<int8_t>("c", "train_mask", {1, 0, 1})})});
  const RawGraph graph = Read();
  EXPECT_THAT(FeatureOf(graph.nodes[0].features, "feat").as<float>(),
              ElementsAre(3, 4, 5, 6, 1, 2));
  EXPECT_THAT(FeatureOf(graph.nodes[0].features, "train_mask").as<uint8_t>(), ElementsAre(0, 1, 1));
}

TEST_F(ColumnTablesTest, AFileOfTextMayFollow) {
  Edges("", {Rows({Numbers<int32_t>("i", "src", {0}), Numbers<int32_t>("i", "dst", {1}),
                   Numbers<float>("f", "w", {0.5})})});
  WriteText(directory_ / "more.csv", "src,dst,w\n1,0,0.25\n");
  options_.edges.push_back(ParseEdgeFile(directory_ / "more.csv"));
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {1, 0}}));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "w").as<float>(), ElementsAre(0.5, 0.25));
}

TEST_F(ColumnTablesTest, WrongIdsAreRefusedWithTheirRow) {
  const auto edges = [&](ArrowSpec src) {
    src.name = "src";
    const auto rows = static_cast<size_t>(src.length);
    ArrowSpec dst = Numbers<int32_t>("i", "dst", {0, 1, 2});
    dst.length = static_cast<int64_t>(rows);
    Edges("", {Rows({src, dst})});
  };
  ArrowSpec null = Numbers<int32_t>("i", "", {0, 1});
  null.buffers[0] = std::string("\x01");
  edges(null);
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("an empty id"));
  edges(Numbers<int32_t>("i", "", {0, -1}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr(":2: node -1 of type '_N' is negative"));
  edges(Numbers<int64_t>("l", "", {0, int64_t{1} << 41}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("row 1 (from 0) of column 'src': node"));
  edges(Numbers<float>("f", "", {0, 1}));
  EXPECT_THAT(
      Complaint(ErrorCode::kInvalid),
      HasSubstr("'src' has the ids of nodes of type '_N' and is float32; cast it to int64"));
  Edges("", {Rows({Numbers<int32_t>("i", "x", {0}), Numbers<int32_t>("i", "x", {0})})});
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("two columns are called 'x'"));
  Edges("u:r:u", {Rows({Texts("a", {"p"}), Texts("b", {"q"})})});
  Nodes("u", {Rows({Texts("id", {"p", "q", "p"})})});
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("row 2 (from 0): node 'p'"));
}

}  // namespace
}  // namespace graphd
