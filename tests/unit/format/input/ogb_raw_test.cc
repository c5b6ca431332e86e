// SPDX-License-Identifier: Apache-2.0
#include "format/input/ogb_raw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using testing::Failure;
using testing::FeatureOf;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::WriteGzip;
using testing::WriteText;

// Writes four nodes and five edges like Cora's and ogbn-arxiv's: whole-number features, labels,
// years.
void WriteSmallGraph(const ScratchDirectory& directory) {
  WriteGzip(directory / "raw/num-node-list.csv.gz", "4\n");
  WriteGzip(directory / "raw/num-edge-list.csv.gz", "5\n");
  WriteGzip(directory / "raw/edge.csv.gz", "0,1\n1,2\n2,2\n0,1\n3,0\n");
  WriteGzip(directory / "raw/node-feat.csv.gz", "0,1,0\n1,0,0\n0,0,1\n1,1,0\n");
  WriteGzip(directory / "raw/node-label.csv.gz", "2\n0\n1\n1\n");
  WriteGzip(directory / "raw/node_year.csv.gz", "1999\n2001\n1970\n2024\n");
  WriteText(directory / "raw/edge_reltype.csv", "0\n1\n2\n0\n1\n");
  WriteText(directory / "split/public/train.csv", "3\n0\n");
  WriteText(directory / "split/public/valid.csv", "1\n");
  WriteText(directory / "split/public/test.csv", "2\n");
}

TEST(OgbRaw, ReadsEdgesFeaturesAndMasks) {
  ScratchDirectory directory;
  WriteSmallGraph(directory);
  const RawGraph graph = ReadOgbRaw(directory.path());
  EXPECT_TRUE(graph.schema.is_homogeneous());
  EXPECT_EQ(graph.nodes[0].count, 4);
  EXPECT_THAT(graph.edges[0].src.as<uint32_t>(), ElementsAre(0u, 1u, 2u, 0u, 3u));
  EXPECT_THAT(graph.edges[0].dst.as<uint32_t>(), ElementsAre(1u, 2u, 2u, 1u, 0u));
  const auto& features = graph.nodes[0].features;
  EXPECT_EQ(FeatureOf(features, "feat").shape(), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(FeatureOf(features, "feat").as<float>()[10], 1.0f);
  EXPECT_THAT(FeatureOf(features, "label").as<int64_t>(), ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(FeatureOf(features, "year").as<int64_t>(), ElementsAre(1999, 2001, 1970, 2024));
  EXPECT_THAT(FeatureOf(features, "train_mask").as<uint8_t>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(FeatureOf(features, "val_mask").as<uint8_t>(), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(FeatureOf(features, "test_mask").as<uint8_t>(), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "reltype").as<int64_t>(),
              ElementsAre(0, 1, 2, 0, 1));
}

TEST(OgbRaw, MissingLabelsAreNan) {
  ScratchDirectory directory;
  WriteSmallGraph(directory);
  WriteGzip(directory / "raw/node-label.csv.gz", "2.0\nnan\n1.0\n1.0\n");
  const RawGraph graph = ReadOgbRaw(directory.path());
  const Tensor& label = FeatureOf(graph.nodes[0].features, "label");
  EXPECT_EQ(label.as<float>()[0], 2.0f);
  EXPECT_TRUE(std::isnan(label.as<float>()[1]));
}

TEST(OgbRaw, ReversesFollowTheStoredEdges) {
  ScratchDirectory directory;
  WriteSmallGraph(directory);
  RawGraph graph = ReadOgbRaw(directory.path());
  AddReverseEdges(graph);
  EXPECT_EQ(graph.edges[0].count(), 10);
  std::vector<std::pair<uint64_t, uint64_t>> edges;
  graph.edges[0].ForEach([&](size_t, uint64_t u, uint64_t v) { edges.emplace_back(u, v); });
  EXPECT_EQ(edges[4], (std::pair<uint64_t, uint64_t>(3, 0)));
  EXPECT_EQ(edges[9], (std::pair<uint64_t, uint64_t>(0, 3)));
}

TEST(OgbRaw, SeveralSplitsNeedAChoice) {
  ScratchDirectory directory;
  WriteSmallGraph(directory);
  WriteText(directory / "split/time/train.csv", "0\n1\n2\n");
  WriteText(directory / "split/time/valid.csv", "");
  WriteText(directory / "split/time/test.csv", "3\n");
  auto [code, message] = Failure([&] { ReadOgbRaw(directory.path()); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("public, time"));
  OgbRawOptions options;
  options.split = "time";
  EXPECT_THAT(FeatureOf(ReadOgbRaw(directory.path(), options).nodes[0].features, "train_mask")
                  .as<uint8_t>(),
              ElementsAre(1, 1, 1, 0));
  options.split = "public2";
  EXPECT_THAT(Failure([&] { ReadOgbRaw(directory.path(), options); }).second,
              HasSubstr("no split 'public2'"));
}

TEST(OgbRaw, ADataSetWithoutSplitHasNoMasks) {
  ScratchDirectory directory;
  WriteSmallGraph(directory);
  std::filesystem::remove_all(directory / "split");
  EXPECT_EQ(ReadOgbRaw(directory.path()).nodes[0].features.size(), 3u);
}

TEST(OgbRaw, ErrorsNameFileAndLine) {
  ScratchDirectory directory;
  const auto read = [&](const std::string& file, const std::string& text) {
    std::filesystem::remove_all(directory / "raw");
    WriteSmallGraph(directory);
    WriteText(directory / file, text);
    const auto [code, message] = Failure([&] { ReadOgbRaw(directory.path()); });
    EXPECT_EQ(code, ErrorCode::kCorrupt) << message;
    return message;
  };
  EXPECT_THAT(read("raw/edge.csv.gz", "0,1\n1,4\n"),
              HasSubstr("edge.csv.gz:2: node 4 is outside 0..3"));
  EXPECT_THAT(read("raw/edge.csv.gz", "0,1\n-1,2\n"), HasSubstr("edge.csv.gz:2: node -1"));
  EXPECT_THAT(read("raw/edge.csv.gz", "0,1\n1,2,3\n"), HasSubstr(":2: 3 columns, expected 2"));
  EXPECT_THAT(read("raw/edge.csv.gz", "0,1\n1,a\n"), HasSubstr(":2: 'a' is not a whole number"));
  EXPECT_THAT(read("raw/edge.csv.gz", "0,1\n"), HasSubstr("ends after 1 edges, expected 5"));
  EXPECT_THAT(read("raw/node-label.csv.gz", "1\n2\n"), HasSubstr("ends after 2 rows, expected 4"));
  EXPECT_THAT(read("raw/num-node-list.csv.gz", "4\n5\n"), HasSubstr("second graph"));
  EXPECT_THAT(read("raw/num-node-list.csv.gz", ""), HasSubstr("empty"));
  EXPECT_THAT(read("raw/num-node-list.csv.gz", "9999999999999999\n"), HasSubstr("outside 0.."));
  WriteSmallGraph(directory);
  std::filesystem::remove_all(directory / "raw");
  WriteSmallGraph(directory);
  WriteText(directory / "split/public/test.csv", "2\n7\n");
  EXPECT_THAT(Failure([&] { ReadOgbRaw(directory.path()); }).second,
              HasSubstr("test.csv:2: node 7 is outside 0..3"));
}

TEST(OgbRaw, ADirectoryOfAnotherLayoutIsNotFound) {
  ScratchDirectory directory;
  const auto [code, message] = Failure([&] { ReadOgbRaw(directory.path()); });
  EXPECT_EQ(code, ErrorCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("raw/num-node-list.csv.gz"));
}

}  // namespace
}  // namespace graphd
