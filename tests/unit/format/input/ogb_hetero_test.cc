// SPDX-License-Identifier: Apache-2.0
#include "format/input/ogb_hetero.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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
using testing::ScratchDirectory;
using testing::WriteGzip;
using testing::WriteText;

// Writes a graph like ogbn-mag: authors write papers, papers cite papers, venues have no edges.
void WriteSmallGraph(const ScratchDirectory& d) {
  WriteGzip(d / "raw/num-node-dict.csv.gz", "author,paper,venue\n3,4,2\n");
  WriteGzip(d / "raw/triplet-list.csv.gz",
            "author,writes,paper\npaper,cites,paper\npaper,in,venue\n");
  WriteGzip(d / "raw/nodetype-has-feat.csv.gz", "author,paper,venue\nFalse,True,False\n");
  WriteGzip(d / "raw/nodetype-has-label.csv.gz", "author,paper,venue\nFalse,True,False\n");
  const std::string relations = d / "raw/relations/";
  WriteGzip(relations + "author___writes___paper/num-edge-list.csv.gz", "3\n");
  WriteGzip(relations + "author___writes___paper/edge.csv.gz", "0,3\n2,0\n2,1\n");
  WriteGzip(relations + "author___writes___paper/edge_reltype.csv.gz", "0\n0\n0\n");
  WriteGzip(relations + "paper___cites___paper/num-edge-list.csv.gz", "2\n");
  WriteGzip(relations + "paper___cites___paper/edge.csv.gz", "3,3\n1,0\n");
  WriteText(relations + "paper___in___venue/num-edge-list.csv", "0\n");
  WriteText(relations + "paper___in___venue/edge.csv", "");
  WriteGzip(d / "raw/node-feat/paper/node-feat.csv.gz", "1,2\n3,4\n5,6\n7,8\n");
  WriteGzip(d / "raw/node-feat/paper/node_year.csv.gz", "2011\n2012\n2013\n2014\n");
  WriteGzip(d / "raw/node-label/paper/node-label.csv.gz", "4\n3\n2\n1\n");
  WriteGzip(d / "split/time/nodetype-has-split.csv.gz", "author,paper,venue\nFalse,True,False\n");
  WriteGzip(d / "split/time/paper/train.csv.gz", "0\n2\n");
  WriteGzip(d / "split/time/paper/valid.csv.gz", "1\n");
  WriteGzip(d / "split/time/paper/test.csv.gz", "3\n");
}

TEST(OgbHetero, ReadsTypesEdgesFeaturesAndMasks) {
  ScratchDirectory d;
  WriteSmallGraph(d);
  const RawGraph graph = ReadOgbRaw(d.path());
  ASSERT_EQ(graph.schema.num_ntypes(), 3);
  ASSERT_EQ(graph.schema.num_etypes(), 3);
  EXPECT_EQ(graph.schema.ntype(2), "venue");
  EXPECT_EQ(graph.schema.etype(1).ToString(), "paper:cites:paper");
  EXPECT_EQ(graph.nodes[1].count, 4);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 3}, {2, 0}, {2, 1}}));
  EXPECT_EQ(EndsOf(graph.edges[1]), (Ends{{3, 3}, {1, 0}}));
  EXPECT_EQ(graph.edges[2].count(), 0);
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "reltype").as<int64_t>(), ElementsAre(0, 0, 0));
  const auto& features = graph.nodes[1].features;
  ASSERT_EQ(features.size(), 6u);
  EXPECT_EQ(FeatureOf(features, "feat").as<float>()[7], 8.0f);
  EXPECT_THAT(FeatureOf(features, "year").as<int64_t>(), ElementsAre(2011, 2012, 2013, 2014));
  EXPECT_THAT(FeatureOf(features, "label").as<int64_t>(), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(FeatureOf(features, "train_mask").as<uint8_t>(), ElementsAre(1, 0, 1, 0));
  EXPECT_TRUE(graph.nodes[0].features.empty());
}

TEST(OgbHetero, InconsistentFilesAreErrorsWithTheLine) {
  const struct {
    const char *file, *text, *wanted;
    ErrorCode code = ErrorCode::kCorrupt;
  } cases[] = {
      {"raw/num-node-dict.csv.gz", "author,paper,venue\n3,4\n", ":2: 2 values, expected 3"},
      {"raw/num-node-dict.csv.gz", "author,paper,venue\n3,-4,2\n", "num-node-dict.csv.gz:2:"},
      {"raw/num-node-dict.csv.gz", "author,paper,venue\n3,99999999999999,2\n", "number of nodes"},
      {"raw/num-node-dict.csv.gz", "author,../x,venue\n3,4,2\n", "not a valid name of a node type"},
      {"raw/num-node-dict.csv.gz", "", "the file is empty"},
      {"raw/triplet-list.csv.gz", "author,writes\n", ":1: 2 columns"},
      {"raw/triplet-list.csv.gz", "author,writes,book\n", "no node type 'book'"},
      {"raw/triplet-list.csv.gz", "", "the file is empty"},
      {"raw/nodetype-has-feat.csv.gz", "paper\nmaybe\n", "'maybe' for node type 'paper'"},
      {"raw/nodetype-has-feat.csv.gz", "book\nTrue\n", "no node type 'book'"},
      {"raw/nodetype-has-feat.csv.gz", "author\nTrue\n", "has True for 'author'",
       ErrorCode::kNotFound},
      {"raw/relations/paper___cites___paper/edge.csv.gz", "3,3\n1,4\n",
       ":2: node 4 is outside 0..3"},
      {"raw/relations/paper___cites___paper/edge.csv.gz", "3,3\n",
       "ends after 1 edges, expected 2"},
      {"raw/relations/author___writes___paper/edge.csv.gz", "3,0\n2,0\n2,1\n",
       ":1: node 3 is outside 0..2"},
      {"raw/node-feat/paper/node-feat.csv.gz", "1,2\n", "expected 4"},
      {"split/time/paper/test.csv.gz", "4\n", "node 4 is outside 0..3"}};
  for (const auto& c : cases) {
    ScratchDirectory d;
    WriteSmallGraph(d);
    WriteGzip(d / c.file, c.text);
    const auto [code, message] = Failure([&] { ReadOgbRaw(d.path()); });
    EXPECT_EQ(code, c.code) << message;
    EXPECT_THAT(message, HasSubstr(c.wanted));
  }
  ScratchDirectory d;
  WriteSmallGraph(d);
  std::filesystem::remove_all(d / "raw/relations/paper___in___venue");
  const auto [code, message] = Failure([&] { ReadOgbRaw(d.path()); });
  EXPECT_EQ(code, ErrorCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("paper___in___venue/num-edge-list"));
}

}  // namespace
}  // namespace graphd
