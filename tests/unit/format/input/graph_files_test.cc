// SPDX-License-Identifier: Apache-2.0
#include "format/input/graph_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/format/npy_bytes.h"
#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Ends;
using testing::EndsOf;
using testing::Failure;
using testing::FeatureOf;
using ::testing::HasSubstr;
using testing::NpyBytes;
using testing::ScratchDirectory;
using testing::WriteGzip;
using testing::WriteText;

class GraphFilesTest : public ::testing::Test {
 protected:
  // Adds --edges and --nodes options for new files in the scratch directory.
  void Edges(const std::string& key, const std::string& name, const std::string& bytes) {
    WriteText(directory_ / name, bytes);
    options_.edges.push_back(ParseEdgeFile(key + (key.empty() ? "" : "=") + directory_ / name));
  }
  void Nodes(const std::string& key, const std::string& name, const std::string& bytes) {
    WriteText(directory_ / name, bytes);
    options_.nodes.push_back(ParseNodeFile(key + "=" + directory_ / name));
  }
  RawGraph Read() { return ReadGraphFiles(options_); }
  // Expects that reading fails and returns the message; resets the options.
  std::string Complaint(ErrorCode code) {
    auto [got, message] = Failure([&] { Read(); });
    EXPECT_EQ(got, code) << message;
    options_ = {};
    return message;
  }
  static std::vector<std::string> NamesOf(const RawNodes& nodes) {
    std::vector<std::string> names;
    for (uint64_t i = 0; i < nodes.names->size(); i++) names.emplace_back(nodes.names->name(i));
    return names;
  }

  ScratchDirectory directory_;
  GraphFilesOptions options_;
};

TEST_F(GraphFilesTest, NumbersAreUsedAsIds) {
  Edges("", "e.csv", "0,3\n2,2\n0,3\n");
  const RawGraph graph = Read();
  EXPECT_TRUE(graph.schema.is_homogeneous());
  EXPECT_EQ(graph.nodes[0].count, 4);
  EXPECT_EQ(graph.nodes[0].names, nullptr);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 3}, {2, 2}, {0, 3}}));
  EXPECT_EQ(graph.edges[0].src.dtype(), DType::kUInt32);
}

TEST_F(GraphFilesTest, ATableWithoutRowsDoesNotTurnNumbersIntoNames) {
  Edges("", "none.csv", "src,dst\n");
  Edges("", "e.csv", "src,dst\n3,1\n0,2\n");
  const RawGraph graph = Read();
  EXPECT_EQ(graph.nodes[0].names, nullptr);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{3, 1}, {0, 2}}));
}

TEST_F(GraphFilesTest, ColumnsNamedLikeTheNodeTypesAreTheEnds) {
  const std::string text = "item,user,price\npen,ann,1\ncup,ann,2\n";
  Edges("user:bought:item", "e.csv", text);
  const RawGraph graph = Read();
  EXPECT_THAT(NamesOf(graph.nodes[0]), ElementsAre("ann"));
  EXPECT_THAT(NamesOf(graph.nodes[1]), ElementsAre("pen", "cup"));
  options_.src_column = "0";
  EXPECT_THAT(NamesOf(Read().nodes[0]), ElementsAre("pen", "cup"));
}

TEST_F(GraphFilesTest, AHeaderAboveNamesIsDetectedFromOptionsOrReported) {
  Edges("", "e.csv", "person,friend\nann,bob\nbob,ann\n");
  std::string notes;
  options_.note = [&](const std::string& text) { notes += text + "\n"; };
  EXPECT_EQ(Read().edges[0].count(), 3);
  EXPECT_THAT(notes,
              AllOf(HasSubstr("ids of _N are names, because of "), HasSubstr("e.csv:1 'person'"),
                    HasSubstr("e.csv: no header found; line 1 is its first edge (--header yes")));
  notes.clear();
  options_.dst_column = "friend";
  EXPECT_EQ(Read().edges[0].count(), 2);
  EXPECT_EQ(notes.find("header"), notes.npos) << notes;
  options_.edges.clear();
  options_.dst_column.clear();
  Edges("person:knows:person", "e.csv", "person,friend\nann,bob\nbob,ann\n");
  EXPECT_EQ(Read().edges[0].count(), 2);
}

TEST_F(GraphFilesTest, ANegativeIdIsRefusedRatherThanTakenForAName) {
  Edges("", "e.csv", "0,1\n1,-2\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("e.csv:2: node -2 of type '_N' is negative"));
  Edges("", "e.csv", "0,1\n1,-2\n");
  options_.map_ids = true;
  EXPECT_THAT(NamesOf(Read().nodes[0]), ElementsAre("0", "1", "-2"));
  options_ = {};
  Edges("", "e.csv", "0,x\n1,-2\n");
  EXPECT_EQ(Read().nodes[0].count, 4);
}

TEST_F(GraphFilesTest, AnEmptyInputIsRefusedUnlessNodesAreGiven) {
  for (const char* text : {"", "src,dst\n"}) {
    Edges("", "e.csv", text);
    EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("e.csv has no edges; "));
    Edges("", "e.csv", text);
    options_.num_nodes["_N"] = 2;
    EXPECT_EQ(Read().nodes[0].count, 2);
    options_ = {};
  }
}

TEST_F(GraphFilesTest, TypesWithoutEdgesAreRefusedOrReported) {
  Edges("user:bought:item", "e.csv", "0,0\n");
  options_.num_nodes["foo"] = 9;
  EXPECT_THAT(Complaint(ErrorCode::kInvalid),
              HasSubstr("node type 'foo'; the types are user, item"));
  Edges("user:bought:item", "e.csv", "0,0\n");
  Nodes("usr", "n.csv", "id,age\n0,30\n");
  std::string notes;
  options_.note = [&](const std::string& text) { notes += text; };
  EXPECT_EQ(Read().nodes[2].count, 1);
  EXPECT_THAT(notes, HasSubstr("type 'usr'; those that have edges are user, item"));
}

TEST_F(GraphFilesTest, NamesAreNumberedInOrderOfFirstAppearance) {
  Edges("", "e.tsv", "bob\tann\nann\tcarl\n\"bob\"\tann\n");
  const RawGraph graph = Read();
  EXPECT_EQ(graph.nodes[0].count, 3);
  EXPECT_THAT(NamesOf(graph.nodes[0]), ElementsAre("bob", "ann", "carl"));
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {1, 2}, {0, 1}}));
}

TEST_F(GraphFilesTest, FurtherColumnsAreFeatures) {
  Edges("", "e.csv", "when,to,from,w,x.0,x.1\n5,1,0,0.5,1,2\n6,0,1,1.5,3,4\n");
  options_.src_column = "from";
  options_.dst_column = "1";
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {1, 0}}));
  const auto& features = graph.edges[0].features;
  ASSERT_EQ(features.size(), 3u);
  EXPECT_THAT(FeatureOf(features, "when").as<int64_t>(), ElementsAre(5, 6));
  EXPECT_THAT(FeatureOf(features, "w").as<float>(), ElementsAre(0.5f, 1.5f));
  EXPECT_EQ(FeatureOf(features, "x").shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_THAT(FeatureOf(features, "x").as<int64_t>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(GraphFilesTest, FeatureColumnsCanBeChosen) {
  const std::string text = "src,dst,w,note\n0,1,2,hello\n";
  Edges("", "e.csv", text);
  options_.feature_columns = {{"w"}};
  EXPECT_EQ(Read().edges[0].features.size(), 1u);
  options_.feature_columns.emplace();
  EXPECT_EQ(Read().edges[0].features.size(), 0u);
  options_.feature_columns = {{"w", "q"}};
  EXPECT_THAT(Complaint(ErrorCode::kInvalid), HasSubstr("no table has a feature column 'q'"));
}

TEST_F(GraphFilesTest, FeatureColumnsCanBeChosenByType) {
  const auto add_files = [&] {
    options_ = {};
    Nodes("user", "users.csv", "id,age,name=full,score\n0,30,1,2\n");
    Nodes("item", "items.csv", "id,age,price\n0,3,5\n");
    Edges("user:buys:item", "e.csv", "user,item,age,price\n0,0,1,2\n");
  };
  const auto names_of = [&](const std::vector<RawFeature>& features) {
    std::vector<std::string> names;
    for (const RawFeature& feature : features) names.push_back(feature.name);
    return names;
  };
  add_files();
  ParseFeatureColumns({"user=age,name=full", "user:buys:item=none"}, options_);
  RawGraph graph = Read();
  EXPECT_THAT(names_of(graph.nodes[0].features), ElementsAre("age", "name=full"));
  EXPECT_THAT(names_of(graph.nodes[1].features), ElementsAre("age", "price"));
  EXPECT_THAT(names_of(graph.edges[0].features), ElementsAre());
  add_files();
  ParseFeatureColumns({"price", "user=score"}, options_);
  graph = Read();
  EXPECT_THAT(names_of(graph.nodes[0].features), ElementsAre("score"));
  EXPECT_THAT(names_of(graph.nodes[1].features), ElementsAre("price"));
  EXPECT_THAT(names_of(graph.edges[0].features), ElementsAre("price"));
  add_files();
  ParseFeatureColumns({"name=full"}, options_);
  EXPECT_THAT(names_of(Read().nodes[0].features), ElementsAre("name=full"));
  add_files();
  ParseFeatureColumns({"item=score"}, options_);
  EXPECT_THAT(Complaint(ErrorCode::kInvalid),
              HasSubstr("no table of item has a feature column 'score'"));
  add_files();
  ParseFeatureColumns({"usr=age"}, options_);
  EXPECT_THAT(Complaint(ErrorCode::kInvalid),
              HasSubstr("no table has a feature column 'usr=age'; there are age, price, name=full, "
                        "score; 'usr' is not a type or a file: the types are user, item, "
                        "user:buys:item, and the files "));
  add_files();
  ParseFeatureColumns({"user=age,,score,"}, options_);
  EXPECT_THAT(names_of(Read().nodes[0].features), ElementsAre("age", "score"));
  add_files();
  ParseFeatureColumns({"user=age", "user=score"}, options_);
  EXPECT_THAT(names_of(Read().nodes[0].features), ElementsAre("age", "score"));
}

TEST_F(GraphFilesTest, ColumnsOfTextAreLabels) {
  Edges("", "e.csv", "src,dst,kind\n0,1,\n1,0,paper\n2,0,book\n3,1,paper\n");
  Edges("", "f.csv", "src,dst,kind\n0,1,7\n1,0,map\n");
  std::string notes;
  options_.note = [&](const std::string& text) { notes += text + "\n"; };
  const RawGraph graph = Read();
  const RawFeature& kind = graph.edges[0].features.at(0);
  const auto labels = kind.values.as<float>();
  EXPECT_TRUE(std::isnan(labels[0]));
  EXPECT_THAT(labels.subspan(1), ElementsAre(0, 1, 0, 2, 3));
  ASSERT_NE(kind.labels, nullptr);
  EXPECT_EQ(kind.labels->size(), 4u);
  EXPECT_EQ(kind.labels->name(1), "book");
  EXPECT_THAT(notes, HasSubstr("labels of kind: 0 'paper', 1 'book', 2 '7', 3 'map'; 1 of these 4 "
                               "texts are numbers, and 3 not, the first 'paper'"));
  EXPECT_THAT(notes,
              HasSubstr("feature 'kind' of _N:_E:_N: 1 of 6 numbers (16.7 %) are NaN, because "
                        "their cells are empty\n"));
  options_ = {};
  Nodes("a", "n.csv", "id,colour,size\n1,red,5\n0,blue,6\n");
  Edges("a:r:a", "e.csv", "0,1\n");
  const RawGraph typed = Read();
  EXPECT_THAT(typed.nodes[0].features.at(0).values.as<int64_t>(), ElementsAre(1, 0));
  EXPECT_EQ(typed.nodes[0].features.at(0).labels->name(1), "blue");
  EXPECT_EQ(typed.nodes[0].features.at(1).labels, nullptr);
}

TEST_F(GraphFilesTest, TextThatIsNoLabelIsRefused) {
  Edges("", "e.csv", "src,dst,w\n0,1,5\n1,0,hello\n");
  EXPECT_THAT(
      Complaint(ErrorCode::kCorrupt),
      AllOf(HasSubstr("e.csv:3: 'hello' in column 'w' is not a number"), HasSubstr("--feat_cols")));
  Edges("", "e.csv", "src,dst,w.0,w.1\n0,1,a,b\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("'a' in column 'w.0' is not a number"));
  Edges("", "e.csv", "src,dst,w\n0,1,\"a\nb\"\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("has a line break, so it can't be a label"));
  std::string titles = "src,dst,title\n";
  for (int i = 0; i < 70000; i++) titles += StrCat("0,1,title ", i, "\n");
  Edges("", "e.csv", titles);
  EXPECT_THAT(
      Complaint(ErrorCode::kCorrupt),
      HasSubstr("e.csv:2: 'title 0' in column 'title' is the first of 70000 different texts in "
                "70000 rows, so they are probably not labels; --feat_cols"));
  // The rows that are not read yet count, too.
  for (int i = 0; i < 70000; i++) titles += StrCat("0,1,title ", i, "\n");
  Edges("", "e.csv", titles);
  EXPECT_EQ(Read().edges[0].features.at(0).labels->size(), 70000u);
}

TEST_F(GraphFilesTest, MasksHaveNoLabels) {
  Nodes("a", "n.csv", "id,train_mask\n0,yes\n1,no\n");
  Edges("a:r:a", "e.csv", "0,1\n");
  EXPECT_THAT(
      Complaint(ErrorCode::kCorrupt),
      HasSubstr("n.csv:2: 'yes' in column 'train_mask' is not a number; a mask has true and "
                "false, or 1 and 0; --feat_cols"));
  Nodes("a", "n.csv", "id,train_mask\n0,True\n1,false\n");
  Edges("a:r:a", "e.csv", "0,1\n");
  const RawFeature mask = Read().nodes[0].features.at(0);
  EXPECT_EQ(mask.labels, nullptr);
  EXPECT_THAT(mask.values.as<uint8_t>(), ElementsAre(1, 0));
}

TEST_F(GraphFilesTest, NumbersBelowATextAreNoLabels) {
  for (const char* first : {"NA", "?", "1e400"}) {
    Edges("", "e.csv", StrCat("src,dst,w\n0,1,\n0,1,", first, "\n1,0,30\n1,0,40\n0,1,30\n"));
    EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
                HasSubstr(StrCat("e.csv:3: '", first,
                                 "' in column 'w' is not a number, but 2 of the 3 different texts "
                                 "in the column are; leave cells without a number empty; "
                                 "--feat_cols can leave the column out")));
  }
  Edges("", "e.csv", "src,dst,w\n0,1,few\n1,0,30\n");
  EXPECT_EQ(Read().edges[0].features.at(0).labels->size(), 2u);
}

// The second column of these triples, as in WN18 and FB15k, is the relation, not the destination.
TEST_F(GraphFilesTest, TablesWithoutAHeaderHaveNoLabels) {
  Edges("", "e.tsv", "cat\thypernym\tanimal\ndog\thypernym\tanimal\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("e.tsv:1: 'animal' in column '2' is not a number; columns of text need a "
                        "header: give --header yes if the first row is one, or leave the columns "
                        "out with --feat_cols none"));
  options_.feature_columns.emplace();
  Edges("", "e.tsv", "cat\tanimal\thypernym\ndog\tanimal\thypernym\n");
  EXPECT_EQ(Read().nodes[0].count, 3);
  options_.feature_columns.reset();
  options_.hints.header = true;
  Edges("", "e.tsv", "a\tb\tkind\ncat\tanimal\thypernym\n");
  EXPECT_EQ(Read().edges[0].features.at(0).labels->name(0), "hypernym");
}

TEST_F(GraphFilesTest, ManyDifferentLabelsAreReported) {
  const auto notes_of = [&](int different) {
    std::string notes, rows = "src,dst,kind\n";
    for (int i = 0; i < 42; i++) rows += StrCat("0,1,a\x1b", i % different, "\n");
    options_.note = [&](const std::string& text) { notes += text + "\n"; };
    Edges("", "e.csv", rows);
    Read();
    options_ = {};
    return notes;
  };
  EXPECT_THAT(notes_of(22),
              HasSubstr("; most texts differ, 22 different ones in 42 rows: are these labels?"));
  EXPECT_THAT(notes_of(21), HasSubstr("19 'a 19' and 1 more\n"));
}

TEST_F(GraphFilesTest, DoubtfulInputIsReportedWithCounts) {
  const auto notes_of = [&] {
    std::string notes;
    options_.note = [&](const std::string& text) { notes += text + "\n"; };
    Read();
    options_ = {};
    return notes;
  };
  Edges("", "e.csv", "src,dst,w\n0,1,nan\n1,2,\n2,3,1.5\n3,0,2\n");
  EXPECT_THAT(notes_of(),
              HasSubstr("feature 'w' of _N:_E:_N: 2 of 4 numbers (50.0 %) are NaN, 1 of "
                        "them because their cells are empty\n"));
  Edges("", "e.csv", "1,2\n3,4\nN/A,2\n4,1\n");
  EXPECT_THAT(notes_of(), HasSubstr("1 of 5 names of _N are not whole numbers, the first 'N/A'; "));
  Edges("", "e.csv", "id,src,dst\n0,1,2\n1,2,0\n");
  EXPECT_THAT(notes_of(), HasSubstr("e.csv: by their positions, column 'id' has the sources and "
                                    "'src' the destinations; --src_col src --dst_col dst takes"));
  std::string counting;
  for (int i = 0; i < 20; i++) counting += StrCat(i, ",", i % 3, ",", i % 7, "\n");
  Edges("", "e.csv", counting);
  EXPECT_THAT(notes_of(), HasSubstr("and '0' counts the first 20 rows; if it numbers the edges, "
                                    "give --src_col 1 --dst_col 2\n"));
}

TEST_F(GraphFilesTest, InputWithoutDoubtIsNotReported) {
  std::string notes, ring = "src,dst,w\n";
  for (int i = 0; i < 20; i++) ring += StrCat(i, ",", (i + 1) % 20, ",", i, "\n");
  Edges("", "e.csv", ring);
  options_.note = [&](const std::string& text) { notes += text + "\n"; };
  Read();
  EXPECT_EQ(notes, "");
  options_.edges.clear();
  Edges("", "e.csv", "id,src,dst\n0,1,2\n1,2,0\n");
  options_.src_column = "id";
  Read();
  EXPECT_EQ(notes, "");
}

TEST_F(GraphFilesTest, ColumnsWithoutHeaderGetUsualNames) {
  Edges("", "e.txt", "0 1 0.5\n1 0 2\n");
  EXPECT_THAT(FeatureOf(Read().edges[0].features, "weight").as<float>(), ElementsAre(0.5f, 2.0f));
  Nodes("_N", "n.txt", "1 7 8\n0 5 6\n");
  EXPECT_THAT(FeatureOf(Read().nodes[0].features, "feat").as<int64_t>(), ElementsAre(5, 6, 7, 8));
}

TEST_F(GraphFilesTest, TypedGraphsComeFromSeveralFiles) {
  Edges("user:follows:user", "f.csv", "ann,bob\n");
  Edges("user:follows:user", "f2.csv", "bob,carl\ncarl,carl\n");
  Edges("user:plays:game", "p.csv", "user;game;hours\ndora;3;1\nann;0;2\n");
  Nodes("game", "g.csv", "id,price,train_mask\n3,1.5,1\n0,0.5,0\n2,9,0\n1,7,1\n");
  const RawGraph graph = Read();
  EXPECT_EQ(graph.schema.ntype(0), "user");
  EXPECT_EQ(graph.schema.etype(1).ToString(), "user:plays:game");
  EXPECT_THAT(NamesOf(graph.nodes[0]), ElementsAre("ann", "bob", "carl", "dora"));
  EXPECT_EQ(graph.nodes[1].count, 4);
  EXPECT_EQ(graph.nodes[1].names, nullptr);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {1, 2}, {2, 2}}));
  EXPECT_EQ(EndsOf(graph.edges[1]), (Ends{{3, 3}, {0, 0}}));
  EXPECT_THAT(FeatureOf(graph.nodes[1].features, "price").as<float>(),
              ElementsAre(0.5f, 7.0f, 9.0f, 1.5f));
  EXPECT_THAT(FeatureOf(graph.nodes[1].features, "train_mask").as<uint8_t>(),
              ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(FeatureOf(graph.edges[1].features, "hours").as<int64_t>(), ElementsAre(1, 2));
}

TEST_F(GraphFilesTest, ATableOfNodesDeterminesTheNodes) {
  Edges("", "e.csv", "x,y\n");
  Nodes("_N", "n.csv", "id,a\ny,1\nx,2\nz,3\n");
  const RawGraph graph = Read();
  EXPECT_EQ(graph.nodes[0].count, 3);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{1, 0}}));
  Edges("", "e2.csv", "x,y\ny,w\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              AllOf(HasSubstr("e2.csv:2: node 'w' of type '_N' is not in"), HasSubstr("n.csv")));
  Edges("", "e.csv", "x,y\n");
  Nodes("_N", "n.csv", "id,a\nx,1\ny,2\nx,3\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("n.csv:4: node 'x' is in an earlier row, too"));
  Edges("", "e.csv", "0,1\n");
  Nodes("_N", "n.csv", "id,a\n1,1\n5,2\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("is node 5 of type '_N'"));
  Edges("", "e.csv", "0,1\n");
  Nodes("_N", "n.csv", "id,a\n1,1\n1,2\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("is in rows 0 and 1"));
}

TEST_F(GraphFilesTest, NumbersWithGapsNeedAnOption) {
  const std::string text = "10,1000000\n1000000,7\n";
  Edges("", "e.csv", text);
  EXPECT_THAT(
      Complaint(ErrorCode::kInvalid),
      AllOf(HasSubstr("go up to 1000000"), HasSubstr("at most 4 of them"), HasSubstr("--map_ids")));
  Edges("", "e.csv", text);
  options_.map_ids = true;
  EXPECT_THAT(NamesOf(Read().nodes[0]), ElementsAre("10", "1000000", "7"));
  options_.map_ids = false;
  options_.num_nodes["_N"] = 2'000'000;
  EXPECT_EQ(Read().nodes[0].count, 2'000'000);
  options_.num_nodes["_N"] = 1'000'000;
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("e.csv:1: node 1000000 of type '_N' is outside 0..999999, as --num_nodes"));
}

TEST_F(GraphFilesTest, LaterIdsThatAreNotNumbersAreErrorsWithTheLine) {
  std::string text;
  for (int i = 0; i < 200; i++) text += StrCat(i, ",", i + 1, "\n");
  for (const char* id : {"x", "-1", "1.5", "", "99999999999999999999"}) {
    Edges("", "e.csv", text + "5," + id + "\n");
    EXPECT_THAT(
        Complaint(ErrorCode::kCorrupt),
        AllOf(HasSubstr(StrCat("e.csv:201: '", id, "' is not the id")), HasSubstr("--map_ids")));
  }
  Edges("", "e.csv", text + "5,1099511627776\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("e.csv:201: node 1099511627776 is outside"));
  Edges("", "e.csv", text + "5,1\n");
  options_.map_ids = true;
  EXPECT_EQ(Read().nodes[0].count, 201);
  Edges("", "e2.csv", "a,\"\"\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("e2.csv:1: an empty id"));
}

TEST_F(GraphFilesTest, NpyArraysOfEitherOrientationAreEdges) {
  const Ends wanted{{0, 5}, {1, 6}, {2, 7}};
  Edges("", "a.npy", NpyBytes<int64_t>("<i8", {2, 3}, {0, 1, 2, 5, 6, 7}));
  EXPECT_EQ(EndsOf(Read().edges[0]), wanted);
  options_ = {};
  Edges("", "a.npy", NpyBytes<int32_t>("<i4", {3, 2}, {0, 5, 1, 6, 2, 7}));
  EXPECT_EQ(EndsOf(Read().edges[0]), wanted);
  options_ = {};
  Edges("", "a.npy", NpyBytes<uint32_t>("<u4", {3, 2}, {0, 1, 2, 5, 6, 7}, true));
  EXPECT_EQ(EndsOf(Read().edges[0]), wanted);
  options_ = {};
  Edges("", "a.npy", NpyBytes<uint64_t>("<u8", {2, 3}, {0, 5, 1, 6, 2, 7}, true));
  EXPECT_EQ(EndsOf(Read().edges[0]), wanted);
  options_ = {};
  WriteText(directory_ / "s.npy", NpyBytes<int64_t>("<i8", {3}, {0, 1, 2}));
  WriteText(directory_ / "d.npy", NpyBytes<uint32_t>("<u4", {3}, {5, 6, 7}));
  options_.edges.push_back(ParseEdgeFile(directory_ / "s.npy" + "," + directory_ / "d.npy"));
  EXPECT_EQ(EndsOf(Read().edges[0]), wanted);
  options_ = {};
  Edges("", "a.npy", NpyBytes<int64_t>("<i8", {2, 0}, {}));
  options_.num_nodes["_N"] = 3;
  EXPECT_EQ(Read().edges[0].count(), 0);
}

TEST_F(GraphFilesTest, BadNpyEdgesAreErrorsWithTheOffset) {
  Edges("", "a.npy", NpyBytes<int64_t>("<i8", {2, 3}, {0, 1, 2, 5, -6, 7}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("a.npy, offset 160: node -6"));
  Edges("", "a.npy", NpyBytes<float>("<f4", {2, 1}, {0, 1}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("holds float32, expected node ids"));
  Edges("", "a.npy", NpyBytes<int64_t>("<i8", {3, 3}, {0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("the shape is [3, 3]"));
  Edges("", "a.npy", NpyBytes<int64_t>("<i8", {2, 3}, {0, 1, 2, 5, 6}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("40 bytes of data, expected 48"));
  Edges("", "s.npy", NpyBytes<int64_t>("<i8", {3}, {0, 1, 2}));
  WriteText(directory_ / "d.npy", NpyBytes<int64_t>("<i8", {2}, {0, 1}));
  options_.edges[0].dst_path = directory_ / "d.npy";
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("2 destinations"));
}

TEST_F(GraphFilesTest, FeatureArraysAreMappedAndStayValid) {
  Edges("u:r:v", "e.csv", "0,0\n1,0\n");
  Edges("u:r:v.w", "w.npy", NpyBytes<float>("<f4", {2, 2}, {1, 2, 3, 4}));
  Nodes("u.x", "x.npy", NpyBytes<int16_t>("<i2", {5}, {1, 2, 3, 4, 5}));
  const Tensor x = FeatureOf(Read().nodes[0].features, "x");
  EXPECT_THAT(x.as<int16_t>(), ElementsAre(1, 2, 3, 4, 5));
  const RawGraph graph = Read();
  EXPECT_EQ(graph.nodes[0].count, 5);
  EXPECT_EQ(FeatureOf(graph.edges[0].features, "w").shape(), (std::vector<int64_t>{2, 2}));
  Edges("u:r:v.y", "y.npy", NpyBytes<float>("<f4", {3}, {1, 2, 3}));
  EXPECT_THAT(Complaint(ErrorCode::kInvalid),
              HasSubstr("y.npy: 3 rows, expected one for each of the 2"));
  Edges("", "e.csv", "0,5\n");
  Nodes("_N.x", "x.npy", NpyBytes<float>("<f4", {3}, {1, 2, 3}));
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr("node 5 of type '_N' is outside 0..2"));
  Edges("", "e.csv", "a,b\n");
  Nodes("_N.x", "x.npy", NpyBytes<float>("<f4", {2}, {1, 2}));
  EXPECT_THAT(Complaint(ErrorCode::kInvalid), HasSubstr("order of the array's rows is unknown"));
}

TEST_F(GraphFilesTest, SelfLoopsMultiEdgesEmptyTypesAndIsolatedNodesAreKept) {
  Edges("a:r:a", "r.csv", "1,1\n1,1\n0,1\n");
  Edges("a:none:b", "none.csv", "");
  options_.num_nodes = {{"a", 4}, {"b", 0}};
  const RawGraph graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{1, 1}, {1, 1}, {0, 1}}));
  EXPECT_EQ(graph.edges[1].count(), 0);
  EXPECT_EQ(graph.nodes[0].count, 4);
  EXPECT_EQ(graph.nodes[1].count, 0);
}

TEST_F(GraphFilesTest, MatrixMarketEntriesAreEdges) {
  Edges("", "m.mtx",
        "%%MatrixMarket matrix coordinate real general\n% made by hand\n3 3 2\n1 2 0.5\n3 3 -1\n");
  RawGraph graph = Read();
  EXPECT_EQ(graph.nodes[0].count, 3);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 1}, {2, 2}}));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "weight").as<float>(), ElementsAre(0.5f, -1.0f));
  options_ = {};
  Edges("", "m.mtx",
        "%%MatrixMarket MATRIX Coordinate integer skew-symmetric\n3 3 2\n2 1 4\n3 1 -5\n");
  graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{1, 0}, {0, 1}, {2, 0}, {0, 2}}));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "weight").as<int64_t>(),
              ElementsAre(4, -4, -5, 5));
  options_ = {};
  WriteGzip(directory_ / "m.gz",
            "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n2 2\n");
  options_.edges.push_back(ParseEdgeFile(directory_ / "m.gz"));
  graph = Read();
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{1, 0}, {0, 1}, {1, 1}}));
  EXPECT_TRUE(graph.edges[0].features.empty());
  EXPECT_EQ(graph.nodes[0].count, 4);
}

TEST_F(GraphFilesTest, TheMirrorOfASkewSymmetricEntryHasTheOtherSign) {
  Edges("", "m.mtx",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 3\n2 1 5\n3 1 -6\n3 2 +7\n");
  EXPECT_THAT(FeatureOf(Read().edges[0].features, "weight").as<int64_t>(),
              ElementsAre(5, -5, -6, 6, 7, -7));
}

TEST_F(GraphFilesTest, BadMatricesAreErrorsWithTheLine) {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  const std::pair<std::string, const char*> cases[] = {
      {banner, "m.mtx:1: the file ends"},
      {banner + "3 3\n", "m.mtx:2: 2 numbers, expected 3"},
      {banner + "3 3 1\n", "m.mtx:2: the file ends after 0 entries, expected 1"},
      {banner + "3 3 1\n1 1\n2 2\n", "m.mtx:4: more entries than the 1"},
      {banner + "3 3 1\n0 1\n", "m.mtx:3: 0 is outside 1..3"},
      {banner + "3 3 1\n4 1\n", "m.mtx:3: 4 is outside 1..3"},
      {banner + "3 3 1\n1 x\n", "m.mtx:3: 'x' is not a whole number"},
      {banner + "9999999999999 1 1\n1 1\n", "m.mtx:2: 9999999999999 is outside"},
      {"%%MatrixMarket matrix array real general\n1 1\n", "'array', expected coordinate"},
      {"%%MatrixMarket matrix coordinate complex general\n", "'complex', expected pattern"},
      {"%%MatrixMarket matrix coordinate real hermitian\n", "'hermitian', expected general"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n",
       "m.mtx:3: 'x' in column 'weight'"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 2 1\n", "2 rows and 3 columns"},
      {"%%MatrixMarket\n", "expected %%MatrixMarket matrix coordinate FIELD SYMMETRY"}};
  for (const auto& [text, wanted] : cases) {
    Edges("", "m.mtx", text);
    EXPECT_THAT(Complaint(ErrorCode::kCorrupt), HasSubstr(wanted)) << text;
  }
  const std::string oblong = banner + "2 3 1\n2 3\n";
  Edges("", "m.mtx", oblong);
  EXPECT_THAT(Complaint(ErrorCode::kInvalid), HasSubstr("only a square matrix"));
  Edges("a:r:b", "m.mtx", oblong);
  EXPECT_EQ(EndsOf(Read().edges[0]), (Ends{{1, 2}}));
}

TEST_F(GraphFilesTest, ErrorsOfUnreadableFilesNameTheRemedy) {
  Edges("", "e.parquet", "PAR1....");
  EXPECT_THAT(Complaint(ErrorCode::kInvalid), HasSubstr("Parquet"));  // nothing can open it
  Edges("", "e.npz", "PK\x03\x04....");
  EXPECT_THAT(Complaint(ErrorCode::kInvalid), HasSubstr("Parquet, .npz"));
  Edges("", "e.csv", "1\n2\n");
  EXPECT_THAT(Complaint(ErrorCode::kCorrupt),
              HasSubstr("expected sources and destinations in two"));
  options_.edges.push_back(ParseEdgeFile("/nowhere/e.csv"));
  EXPECT_THAT(Complaint(ErrorCode::kNotFound), HasSubstr("/nowhere/e.csv"));
  Edges("", "e.csv", "1,2\n");
  options_.kind = EdgeFileKind::kNpy;
  EXPECT_THAT(Complaint(ErrorCode::kInvalid),
              HasSubstr("is a table as text, expected a .npy file"));
  Edges("a:b:c.w", "w.npy", NpyBytes<float>("<f4", {1}, {1}));
  EXPECT_THAT(Complaint(ErrorCode::kInvalid), HasSubstr("no file has the edges of type a:b:c"));
}

TEST_F(GraphFilesTest, ReversesBetweenTypesAreSeparateTypes) {
  Edges("a:r:b", "r.csv", "src,dst,w\n0,1,5\n");
  Edges("a:s:a", "s.csv", "0,0\n");
  RawGraph graph = Read();
  AddReverseEdges(graph);
  ASSERT_EQ(graph.schema.num_etypes(), 3);
  EXPECT_EQ(graph.schema.etype(2).ToString(), "b:rev_r:a");
  EXPECT_EQ(EndsOf(graph.edges[2]), (Ends{{1, 0}}));
  EXPECT_THAT(FeatureOf(graph.edges[2].features, "w").as<int64_t>(), ElementsAre(5));
  EXPECT_EQ(graph.edges[1].count(), 2);
  EXPECT_EQ(Failure([&] { AddReverseEdges(graph); }).first, ErrorCode::kInvalid);
}

TEST(GraphFilesOptions, AreParsed) {
  EdgeFile edges = ParseEdgeFile("user:re.plies:post=d=1.csv");
  EXPECT_EQ(edges.type.ToString(), "user:re.plies:post");
  EXPECT_EQ(edges.path, "d=1.csv");
  EXPECT_EQ(edges.feature, "");
  edges = ParseEdgeFile("a:b:c.w=s.npy");
  EXPECT_EQ(edges.type.dst, "c");
  EXPECT_EQ(edges.feature, "w");
  EXPECT_EQ(ParseEdgeFile("s.npy,d.npy").dst_path, "d.npy");
  EXPECT_EQ(ParseEdgeFile("/x/y=z.csv").path, "/x/y=z.csv");
  EXPECT_EQ(ParseNodeFile("user.feat=f.npy").feature, "feat");
  EXPECT_EQ(ParseNodeFile("n.csv").type, "_N");
  EXPECT_EQ(ParseNodeCount("12").second, 12);
  EXPECT_EQ(ParseNodeCount("user=5"), (std::pair<std::string, int64_t>("user", 5)));
  for (const char* bad : {"", "=x", "a:b=x", "a:b:c:d=x", "a::c=x", "a:b:c=", "a b:c:d=x"}) {
    EXPECT_EQ(Failure([&] { ParseEdgeFile(bad); }).first, ErrorCode::kInvalid) << bad;
  }
  for (const char* bad : {"", "a:b=x", "~=x", "..=x"}) {
    EXPECT_EQ(Failure([&] { ParseNodeFile(bad); }).first, ErrorCode::kInvalid) << bad;
  }
  for (const char* bad : {"", "x", "user=", "user=-1", "user=1.5", "user=99999999999999"}) {
    EXPECT_EQ(Failure([&] { ParseNodeCount(bad); }).first, ErrorCode::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace graphd
