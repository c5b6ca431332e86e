// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "tests/unit/format/fixture_files.h"
#include "tests/unit/format/hand_made.h"

namespace graphd::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns the message of the Error that `f` throws, or "no error".
template <class F>
std::string ErrorOf(F&& f, ErrorCode code = ErrorCode::kCorrupt) {
  try {
    f();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCodeName(error.code()), std::string(ErrorCodeName(code))) << error.what();
    return error.what();
  }
}

class DglPartition : public testing::Test {
 protected:
  std::shared_ptr<const Partition> Load(PartId part) {
    return LoadPartition(LoadPartConfig(folder_ / "hand.json"), part);
  }
  void ExpectAllRight(const HandMade& made, const std::string& what) {
    for (PartId p = 0; p < made.meta().book.num_partitions(); p++) {
      EXPECT_EQ(made.Check(*Load(p)), "") << what << ", partition " << p;
    }
  }
  // Writes partition 0's graph again.
  void Rewrite(const GraphFile& graph) {
    WriteAll(folder_ / "part0/graph.dgl", EncodeGraph(graph));
  }
  std::string ErrorOfPart0() {
    return ErrorOf([&] { Load(0); });
  }

  TempFolder folder_;
  HandMade made_{{{5, 7}, {6, 3}}, 20, 11};
};

TEST_F(DglPartition, EveryStoredFormatInBothWidthsGivesTheSameGraph) {
  for (int formats = 1; formats <= 7; formats++) {
    for (bool narrow : {false, true}) {
      made_.Write(folder_.path(), formats, narrow);
      ExpectAllRight(made_, StrCat("formats ", formats, narrow ? ", int32" : ", int64"));
    }
  }
}

TEST_F(DglPartition, TheOldNumberOfASingleFormatIsUnderstood) {
  for (int formats : {kCoo, kCsr, kCsc}) {
    made_.Write(folder_.path());
    GraphFile graph = made_.Graph(0);
    graph.formats = formats;
    graph.old_format_field = true;
    Rewrite(graph);
    ExpectAllRight(made_, StrCat("format ", formats));
  }
}

TEST_F(DglPartition, AnyLocalOrderGivesTheSameGraphAndFeatures) {
  for (int formats : {kCoo, kCsr, kCsc}) {
    made_.Write(folder_.path(), formats, false, /*shuffled=*/true);
    ExpectAllRight(made_, StrCat("shuffled, format ", formats));
  }
}

TEST_F(DglPartition, RandomGraphsWithEmptyTypesAndPartitionsAreRead) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const auto size = [&](uint64_t salt) { return static_cast<int64_t>((seed * salt) % 5); };
    const HandMade made({{size(1), size(3), 1 + size(7)}, {size(11), 0, size(13)}}, size(17), seed);
    made.Write(folder_.path(), seed % 2 ? kCoo : kCsc, false, seed % 3 == 0);
    ExpectAllRight(made, StrCat("seed ", seed));
  }
}

TEST_F(DglPartition, ReservedColumnsMayHaveAnyIntegerDtype) {
  made_.Write(folder_.path());
  const auto with = [&](auto zero) {
    using T = decltype(zero);
    GraphFile graph = made_.Graph(0);
    for (auto* data : {&graph.node_data, &graph.edge_data}) {
      for (Column& column : *data) {
        const size_t width = DTypeSize(column.dtype);
        std::vector<T> values;
        for (size_t i = 0; i < column.bytes.size(); i += width) {
          int64_t value = 0;
          std::memcpy(&value, column.bytes.data() + i, width);
          values.push_back(static_cast<T>(value));
        }
        column = MakeColumn(column.name, values);
      }
    }
    Rewrite(graph);
    EXPECT_EQ(made_.Check(*Load(0)), "") << DTypeName(DTypeOf<T>());
  };
  with(int8_t{});
  with(int16_t{});
  with(int32_t{});
  with(int64_t{});
  with(uint8_t{});
  with(uint16_t{});
  with(uint32_t{});
  with(uint64_t{});
}

TEST_F(DglPartition, EdgesOrderedByDestinationNeedNoArrayOfEdgeRows) {
  HandMade one({{4}, {3}}, 1, 5);  // a single edge per type is in order
  one.Write(folder_.path());
  EXPECT_FALSE(Load(0)->csc(0).edge_rows.has_value());
  made_.Write(folder_.path());
  EXPECT_TRUE(Load(0)->csc(0).edge_rows.has_value());
}

TEST_F(DglPartition, LoadingTakesTheEstimatedMemory) {
  made_.Write(folder_.path());
  const PartConfig config = LoadPartConfig(folder_ / "hand.json");
  EXPECT_EQ(EstimatePartitionBytes(config, 0), Load(0)->bytes());
}

TEST_F(DglPartition, ProgressRisesToTheTotal) {
  made_.Write(folder_.path());
  uint64_t last = 0, all = 1;
  LoadOptions options;
  options.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_GE(done, last);
    last = done, all = total;
  };
  LoadPartition(LoadPartConfig(folder_ / "hand.json"), 1, options);
  EXPECT_LE(last, all);
  EXPECT_GT(last, all / 2);
}

TEST_F(DglPartition, OptionalColumnsMayBeMissing) {
  made_.Write(folder_.path());
  GraphFile graph = made_.Graph(0);
  graph.node_data.erase(graph.node_data.begin(), graph.node_data.begin() + 2);
  graph.edge_data.erase(graph.edge_data.begin(), graph.edge_data.begin() + 2);
  Rewrite(graph);
  EXPECT_EQ(made_.Check(*Load(0)), "");
  graph.edge_data.clear();
  Rewrite(graph);
  EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("part0/graph.dgl"), HasSubstr("'_ID'")));
}

TEST_F(DglPartition, ColumnsThatContradictThePartConfigAreRefused) {
  made_.Write(folder_.path());
  for (const std::string name : {"inner_node", "_TYPE", "_ID"}) {
    GraphFile graph = made_.Graph(0);
    for (Column& column : graph.node_data) {
      if (column.name == name) column.bytes[0] = 1 - column.bytes[0] % 2;
    }
    Rewrite(graph);
    EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("part0/graph.dgl"), HasSubstr("offset"),
                                      HasSubstr(name == "_ID" ? "has the id" : name)));
  }
}

TEST_F(DglPartition, AnEdgeWithAnImpossibleEndIsRefused) {
  made_.Write(folder_.path());
  GraphFile graph = made_.Graph(0);
  graph.src[0] = graph.num_nodes;
  Rewrite(graph);
  EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("edge 0 of type a:to:b"),
                                    HasSubstr(StrCat("source ", graph.num_nodes))));
  graph = made_.Graph(0);
  graph.src[0] = 6;  // a node of type b
  Rewrite(graph);
  EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("source 6"), HasSubstr("of type a")));
  graph = made_.Graph(0);
  graph.dst[0] = -1;
  Rewrite(graph);
  EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("destination -1"), HasSubstr("offset")));
  graph = made_.Graph(0);
  graph.dst.back() = 0;  // a halo edge that leads to an inner node
  Rewrite(graph);
  EXPECT_THAT(ErrorOfPart0(), HasSubstr("is not owned but leads to node 0"));
}

TEST_F(DglPartition, AGraphOfAnotherPartitionIsRefused) {
  made_.Write(folder_.path());
  WriteAll(folder_ / "part0/graph.dgl", ReadAll(folder_ / "part1/graph.dgl"));
  EXPECT_THAT(ErrorOfPart0(), HasSubstr("part0/graph.dgl"));
}

TEST_F(DglPartition, FeaturesWithWrongRowsOrUnknownTypesAreRefused) {
  made_.Write(folder_.path());
  const std::string file = folder_ / "part0/node_feat.dgl";
  WriteAll(file, EncodeDict({MakeColumn<float>("a/x", {1, 2, 3})}));
  EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("node_feat.dgl"), HasSubstr("'a/x' has 3 rows"),
                                    HasSubstr("expected 5")));
  WriteAll(file, EncodeDict({MakeColumn<float>("c/x", {1, 2, 3})}));
  EXPECT_THAT(ErrorOfPart0(), AllOf(HasSubstr("'c/x'"), HasSubstr("there are: a, b")));
  WriteAll(file, EncodeDict({MakeColumn<float>("x", {1, 2, 3, 4, 5})}));
  EXPECT_THAT(ErrorOfPart0(), HasSubstr("expected <type>/<name>"));
  WriteAll(file, EncodeDict({MakeColumn<float>("a/x", {1, 2, 3, 4, 5}),
                             MakeColumn<float>("a/x", {1, 2, 3, 4, 5})}));
  EXPECT_THAT(ErrorOfPart0(), HasSubstr("listed twice"));
}

TEST_F(DglPartition, ErrorsNameTheKindOfUnsupportedFiles) {
  made_.Write(folder_.path());
  std::string graph = ReadAll(folder_ / "part0/graph.dgl");
  graph[8] = 1;
  WriteAll(folder_ / "part0/graph.dgl", graph);
  EXPECT_THAT(ErrorOf([&] { Load(0); }, ErrorCode::kVersion), HasSubstr("version 1"));
  WriteAll(folder_ / "part0/graph.dgl", "PK\x03\x04, a zip file");
  EXPECT_THAT(ErrorOfPart0(), HasSubstr("magic of a DGL graph file"));
  WriteAll(folder_ / "part0/graph.dgl", "");
  EXPECT_THAT(ErrorOfPart0(), HasSubstr("the file ends after 0"));
}

TEST_F(DglPartition, MissingFilesAndPartitionsAreNotFound) {
  made_.Write(folder_.path());
  EXPECT_THAT(ErrorOf([&] { Load(2); }, ErrorCode::kNotFound), HasSubstr("there are 0..1"));
  WriteAll(folder_ / "elsewhere/hand.json", made_.PartConfigJson());
  EXPECT_THAT(ErrorOf([&] { LoadPartition(LoadPartConfig(folder_ / "elsewhere/hand.json"), 0); },
                      ErrorCode::kNotFound),
              HasSubstr("elsewhere/part0/graph.dgl"));
}

}  // namespace
}  // namespace graphd::test
