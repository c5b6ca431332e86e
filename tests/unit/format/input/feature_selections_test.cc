// SPDX-License-Identifier: Apache-2.0
#include "format/input/feature_selections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "tests/unit/format/npy_bytes.h"
#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::Failure;
using testing::FeatureOf;
using ::testing::HasSubstr;
using testing::NpyBytes;
using testing::ScratchDirectory;
using testing::WriteText;

class FeatureSelectionsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_ / name; }
  void Edges(const std::string& type, const std::string& name, const std::string& bytes) {
    WriteText(Path(name), bytes);
    options_.edges.push_back(ParseEdgeFile(type + "=" + Path(name)));
  }
  void Nodes(const std::string& type, const std::string& name, const std::string& bytes) {
    WriteText(Path(name), bytes);
    options_.nodes.push_back(ParseNodeFile(type + "=" + Path(name)));
  }
  // Reads the files that were added, with these --feat_cols options.
  RawGraph Read(const std::vector<std::string>& lists) {
    options_.feature_columns.reset();
    options_.feature_columns_of.clear();
    options_.feature_columns_in.clear();
    ParseFeatureColumns(lists, options_);
    return ReadGraphFiles(options_);
  }
  std::string Complaint(const std::vector<std::string>& lists) {
    auto [code, message] = Failure([&] { Read(lists); });
    EXPECT_EQ(code, ErrorCode::kInvalid) << message;
    return message;
  }
  static std::vector<std::string> NamesOf(const std::vector<RawFeature>& features) {
    std::vector<std::string> names;
    for (const RawFeature& feature : features) names.push_back(feature.name);
    return names;
  }

  ScratchDirectory directory_;
  GraphFilesOptions options_;
};

TEST_F(FeatureSelectionsTest, AListOfAFileReplacesThatOfAllTables) {
  Nodes("user", "users.csv", "id,age,score\n0,30,2\n");
  Edges("user:buys:user", "a.csv", "src,dst,price,note\n0,0,1,new\n");
  Edges("user:buys:user", "b.csv", "src,dst,price\n0,0,2\n");
  RawGraph graph = Read({"price,score", Path("a.csv") + "=price"});
  EXPECT_THAT(NamesOf(graph.nodes[0].features), ElementsAre("score"));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "price").as<int64_t>(), ElementsAre(1, 2));
  // Files without a list have all columns.
  graph = Read({"a.csv=price"});
  EXPECT_THAT(NamesOf(graph.nodes[0].features), ElementsAre("age", "score"));
  EXPECT_THAT(NamesOf(graph.edges[0].features), ElementsAre("price"));
  EXPECT_THAT(NamesOf(Read({"users.csv=none", "price"}).nodes[0].features), ElementsAre());
}

TEST_F(FeatureSelectionsTest, FilesWithoutAHeaderMayHaveAFeatureAtDifferentPlaces) {
  Edges("a:r:a", "one.csv", "0,1,7,100\n");
  Edges("a:r:a", "two.csv", "1,0,200,8\n");
  const RawGraph graph = Read({"one.csv=2", "two.csv=3"});
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "weight").as<int64_t>(), ElementsAre(7, 8));
}

TEST_F(FeatureSelectionsTest, ColumnsOfFilesMayBeInAnyOrder) {
  Edges("a:r:a", "one.csv", "src,dst,w,t.0,t.1\n0,1,5,6,7\n");
  Edges("a:r:a", "two.csv", "t.0,t.1,src,dst,w\n8,9,1,0,10\n");
  options_.src_column = "src";
  options_.dst_column = "dst";
  const RawGraph graph = Read({});
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "w").as<int64_t>(), ElementsAre(5, 10));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "t").as<int64_t>(), ElementsAre(6, 7, 8, 9));
}

TEST_F(FeatureSelectionsTest, FilesAreNamedByPathOrByAnUnambiguousName) {
  Edges("a:r:a", "year=2024/e.csv", "src,dst,w,t\n0,1,5,6\n");
  EXPECT_THAT(NamesOf(Read({Path("year=2024/e.csv=w")}).edges[0].features), ElementsAre("w"));
  EXPECT_THAT(NamesOf(Read({Path("year=2024/./e.csv") + "=t"}).edges[0].features),
              ElementsAre("t"));
  EXPECT_THAT(NamesOf(Read({"e.csv=t", "e.csv=w"}).edges[0].features), ElementsAre("w", "t"));
  Edges("a:r:a", "year=2025/e.csv", "src,dst,w\n0,1,5\n");
  EXPECT_THAT(Complaint({"e.csv=w"}),
              HasSubstr(StrCat(
                  "--feat_cols e.csv=w: several files have this name: ", Path("year=2024/e.csv"),
                  ", ", Path("year=2025/e.csv"), "; give the path of one")));
  EXPECT_THAT(NamesOf(Read({Path("year=2024/e.csv=w")}).edges[0].features), ElementsAre("w"));
}

TEST_F(FeatureSelectionsTest, FeaturesOfFilesMustAgree) {
  Edges("a:r:a", "one.csv", "src,dst,w,t\n0,1,5,6\n");
  Edges("a:r:a", "two.csv", "src,dst,w,t\n0,1,5,6\n");
  EXPECT_THAT(Complaint({"two.csv=t"}),
              AllOf(HasSubstr("two.csv has the feature columns t of 1, expected those of "),
                    HasSubstr("one.csv: w of 1, t of 1; --feat_cols can leave some out, also of "
                              "one file: --feat_cols "),
                    EndsWith("two.csv=NAME,NAME")));
}

TEST_F(FeatureSelectionsTest, ColumnsThatAFileLacksAreErrorsBeforeAnythingIsRead) {
  // The last row is bad, and lies behind those by which the format is detected.
  std::string text = "user,item,price,x.0,x.1\n";
  for (int i = 0; i < 200; i++) text += "0,0,1,2,3\n";
  Edges("user:buys:item", "e.csv", text + "bad\n");
  Edges("user:buys:item", "plain.csv", "0,0,1,2\n");
  EXPECT_THAT(Complaint({"e.csv=price,cost"}),
              EndsWith("e.csv has no feature column 'cost'; there are price, x"));
  EXPECT_THAT(Complaint({"e.csv=item"}),
              EndsWith("e.csv has no feature column 'item'; there are price, x; 'item' has ids"));
  EXPECT_THAT(Complaint({"plain.csv=w"}),
              EndsWith("plain.csv has no feature column 'w'; there are 2, 3 (positions: there is "
                       "no header); if its first row is a header, give --header yes"));
  EXPECT_THAT(Complaint({"user:buys:item=cost"}),
              EndsWith("no table of user:buys:item has a feature column 'cost'; there are price, "
                       "x, 2, 3"));
}

TEST_F(FeatureSelectionsTest, FilesThatAreNoInputAreErrors) {
  Edges("a:r:a", "e.csv", "src,dst,w\n0,1,5\n");
  EXPECT_THAT(Complaint({"f.csv=w"}),
              HasSubstr(StrCat("no table has a feature column 'f.csv=w'; there is w; 'f.csv' is "
                               "not a type or a file: the types are a, a:r:a, and the files ",
                               Path("e.csv"))));
  EXPECT_THAT(Complaint({"f.csv=none"}), HasSubstr("'f.csv' is not a type or a file"));
}

TEST_F(FeatureSelectionsTest, AColumnIsListedOnce) {
  Edges("a:r:a", "e.csv", "src,dst,w\n0,1,5\n");
  EXPECT_THAT(Complaint({"e.csv=w,w"}),
              HasSubstr(StrCat("--feat_cols e.csv=w,w: 'w' is listed twice for ", Path("e.csv"),
                               "; omit one")));
  EXPECT_THAT(Complaint({"e.csv=w", Path("e.csv") + "=w"}), HasSubstr("listed twice"));
  EXPECT_THAT(Complaint({"a:r:a=w", "a:r:a=w"}), HasSubstr("'w' is listed twice for a:r:a;"));
  EXPECT_THAT(Complaint({"w", "w"}), HasSubstr("'w' is listed twice for all tables;"));
  EXPECT_THAT(Complaint({"e.csv=w", "e.csv=none"}),
              HasSubstr(StrCat("both 'none' and column 'w' are given for ", Path("e.csv"))));
}

TEST_F(FeatureSelectionsTest, ListsOfATypeAndOfItsFilesExcludeEachOther) {
  Nodes("user", "users.csv", "id,age\n0,30\n");
  Edges("user:buys:user", "e.csv", "src,dst,w\n0,0,5\n");
  EXPECT_THAT(Complaint({"user=age", "users.csv=age"}),
              HasSubstr(StrCat("columns are listed both for ", Path("users.csv"),
                               " and for user, the type of that file; list those of the type, or "
                               "those of each of its files")));
  EXPECT_EQ(Read({"user=age", "e.csv=w"}).edges[0].features.size(), 1u);
}

TEST_F(FeatureSelectionsTest, ArraysHaveNoColumns) {
  Nodes("a.feat", "feat.npy", NpyBytes<int64_t>("<i8", {2}, {5, 6}));
  Edges("a:r:a", "e.npy", NpyBytes<int64_t>("<i8", {2, 1}, {0, 1}));
  EXPECT_THAT(Complaint({"feat.npy=none"}),
              AllOf(HasSubstr("feat.npy is an array, all of which is the feature 'feat' of a; "),
                    EndsWith("omit the option")));
  EXPECT_THAT(Complaint({"e.npy=none"}), HasSubstr("e.npy is an array and has no columns"));
}

TEST_F(FeatureSelectionsTest, TheValuesOfAMatrixAreTheColumnWeight) {
  Edges("a:r:a", "m.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n");
  EXPECT_EQ(Read({"m.mtx=weight"}).edges[0].features.size(), 1u);
  EXPECT_EQ(Read({"m.mtx=none"}).edges[0].features.size(), 0u);
  EXPECT_THAT(Complaint({"m.mtx=w"}), EndsWith("m.mtx has no feature column 'w'; there is weight"));
}

}  // namespace
}  // namespace graphd
