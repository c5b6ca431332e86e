// SPDX-License-Identifier: Apache-2.0
#include "format/input/chunked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/format/npy_bytes.h"
#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::Ends;
using testing::EndsOf;
using testing::Failure;
using testing::FeatureOf;
using ::testing::HasSubstr;
using testing::NpyBytes;
using testing::ScratchDirectory;
using testing::WriteText;

json Spec(const char* format, std::vector<std::string> paths) {
  return {{"format", {{"name", format}, {"delimiter", " "}}}, {"data", std::move(paths)}};
}

// A graph with two node types and two edge types, in two chunks unless a test says otherwise.
class ChunkedTest : public ::testing::Test {
 protected:
  ChunkedTest() {
    WriteText(directory_ / "edge_index/f0.txt", "0 4\n1 1\n");
    WriteText(directory_ / "edge_index/f1.txt", "4 0\n");
    WriteText(directory_ / "edge_index/p0.txt", "");
    WriteText(directory_ / "edge_index/p1.npy", NpyBytes<int64_t>("<i8", {2, 1}, {3, 2}));
    WriteText(directory_ / "x0.npy", NpyBytes<float>("<f4", {3, 2}, {0, 1, 2, 3, 4, 5}));
    WriteText(directory_ / "x1.npy", NpyBytes<float>("<f4", {2, 2}, {6, 7, 8, 9}));
    WriteText(directory_ / "w.npy", NpyBytes<int16_t>("<i2", {3}, {7, 8, 9}));
    WriteText(directory_ / "y0.csv", "1\n2\n");
    WriteText(directory_ / "y1.csv", "3\n");
    metadata_ = {{"graph_name", "g"},
                 {"node_type", {"user", "game"}},
                 {"num_nodes_per_chunk", {{3, 2}, {2, 1}}},
                 {"edge_type", {"user:follows:user", "user:plays:game"}},
                 {"num_edges_per_chunk", {{2, 1}, {0, 1}}},
                 {"edges",
                  {{"user:follows:user", Spec("csv", {"edge_index/f0.txt", "edge_index/f1.txt"})},
                   {"user:plays:game", Spec("numpy", {"edge_index/p1.npy"})}}},
                 {"node_data",
                  {{"user", {{"x", Spec("numpy", {"x0.npy", "/moved/away/x1.npy"})}}},
                   {"game", {{"y", Spec("csv", {"y0.csv", "y1.csv"})}}}}},
                 {"edge_data", {{"user:follows:user", {{"w", Spec("numpy", {"w.npy"})}}}}}};
  }
  RawGraph Read() {
    WriteText(directory_ / "metadata.json", metadata_.dump());
    return ReadChunked(directory_ / "metadata.json");
  }
  void ExpectComplaint(ErrorCode wanted, const std::string& text) {
    const auto [code, message] = Failure([&] { Read(); });
    EXPECT_EQ(code, wanted) << message;
    EXPECT_THAT(message, HasSubstr(text));
  }

  ScratchDirectory directory_;
  json metadata_;
};

TEST_F(ChunkedTest, ChunksAreJoinedInOrder) {
  const RawGraph graph = Read();
  EXPECT_EQ(graph.schema.etype(1).ToString(), "user:plays:game");
  EXPECT_EQ(graph.nodes[0].count, 5);
  EXPECT_EQ(graph.nodes[1].count, 3);
  EXPECT_EQ(EndsOf(graph.edges[0]), (Ends{{0, 4}, {1, 1}, {4, 0}}));
  EXPECT_EQ(EndsOf(graph.edges[1]), (Ends{{3, 2}}));
  const Tensor& x = FeatureOf(graph.nodes[0].features, "x");
  EXPECT_EQ(x.shape(), (std::vector<int64_t>{5, 2}));
  EXPECT_THAT(x.as<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(FeatureOf(graph.nodes[1].features, "y").as<int64_t>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(FeatureOf(graph.edges[0].features, "w").as<int16_t>(), ElementsAre(7, 8, 9));
}

TEST_F(ChunkedTest, AChunkOfTwoEdgesHasOneEdgePerRow) {
  WriteText(directory_ / "a.npy", NpyBytes<int64_t>("<i8", {3, 2}, {0, 1, 1, 2, 2, 3}));
  WriteText(directory_ / "b.npy", NpyBytes<int64_t>("<i8", {2, 2}, {3, 4, 4, 0}));
  metadata_["num_edges_per_chunk"][0] = {3, 2};
  metadata_["edges"]["user:follows:user"] = Spec("numpy", {"a.npy", "b.npy"});
  metadata_.erase("edge_data");
  EXPECT_EQ(EndsOf(Read().edges[0]), (Ends{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}));
}

TEST_F(ChunkedTest, CountsPerTypeAndPerChunkAreEquivalent) {
  metadata_["num_nodes_per_type"] = {5, 3};
  metadata_["num_edges_per_type"] = {3, 1};
  EXPECT_EQ(Read().nodes[0].count, 5);
  metadata_.erase("num_nodes_per_chunk");
  metadata_.erase("num_edges_per_chunk");
  EXPECT_EQ(Read().nodes[1].count, 3);
  metadata_.erase("num_edges_per_type");
  EXPECT_EQ(Read().edges[0].count(), 3);
  metadata_.erase("num_nodes_per_type");
  ExpectComplaint(ErrorCode::kCorrupt, "num_nodes_per_type is missing");
}

TEST_F(ChunkedTest, TextIsNoFeature) {
  WriteText(directory_ / "y0.csv", "red\nblue\n");
  ExpectComplaint(ErrorCode::kCorrupt,
                  "y0.csv:1: 'red' in column '0' is not a number; write numbers, such as");
}

TEST_F(ChunkedTest, ErrorsNameContradictions) {
  metadata_["num_nodes_per_type"] = {5, 4};
  ExpectComplaint(ErrorCode::kCorrupt, "num_nodes_per_chunk[1] is");
  metadata_["num_nodes_per_type"] = {5};
  ExpectComplaint(ErrorCode::kCorrupt, "one for each type");
  metadata_.erase("num_nodes_per_type");
  metadata_["num_nodes_per_chunk"] = {{4, 2}, {2, 1}};
  ExpectComplaint(ErrorCode::kCorrupt, "end after 5 rows, expected 6");
  metadata_["num_nodes_per_chunk"] = {{3, 1}, {2, 1}};
  ExpectComplaint(ErrorCode::kCorrupt, "f0.txt:1: node 4 of type 'user' is outside 0..3");
  metadata_["num_nodes_per_chunk"] = {{1099511627776, 0}, {2, 1}};
  ExpectComplaint(ErrorCode::kCorrupt, "expected 1099511627776 rows");
  metadata_["num_nodes_per_chunk"] = {{-1, 2}, {2, 1}};
  ExpectComplaint(ErrorCode::kCorrupt, "num_nodes_per_chunk[0][0] is -1");
  metadata_["num_nodes_per_chunk"] = {{3, 2}, {2, 1}};
  metadata_["num_edges_per_chunk"] = {{2, 2}, {0, 1}};
  ExpectComplaint(ErrorCode::kCorrupt, "have 3 edges, expected 4");
}

TEST_F(ChunkedTest, ErrorsNameBadChunks) {
  const json good = metadata_;
  metadata_["edges"]["user:plays:game"] = Spec("parquet", {"a.parquet"});
  ExpectComplaint(ErrorCode::kInvalid, "edges.user:plays:game is in Parquet files");
  metadata_["edges"]["user:plays:game"] = Spec("numpy", {});
  ExpectComplaint(ErrorCode::kCorrupt, "at least one path");
  metadata_["edges"].erase("user:plays:game");
  ExpectComplaint(ErrorCode::kCorrupt, "edges.user:plays:game is missing");
  metadata_ = good;
  metadata_["edge_type"][0] = "follows";
  ExpectComplaint(ErrorCode::kCorrupt, "src:rel:dst");
  metadata_ = good;
  metadata_["node_data"]["cat"] = metadata_["node_data"]["user"];
  ExpectComplaint(ErrorCode::kCorrupt, "no node type 'cat'");
  metadata_ = good;
  metadata_["node_data"]["user"]["x"] = Spec("numpy", {"x0.npy", "w.npy"});
  ExpectComplaint(ErrorCode::kCorrupt, "w.npy: rows unlike those of");
  metadata_["node_data"]["user"]["x"] = Spec("numpy", {"x0.npy"});
  ExpectComplaint(ErrorCode::kCorrupt, "have 3 rows, expected 5");
  metadata_["node_data"]["user"]["x"] = Spec("numpy", {"x0.npy", "/nowhere/x9.npy"});
  ExpectComplaint(ErrorCode::kNotFound, "/nowhere/x9.npy");
  metadata_ = good;
  WriteText(directory_ / "edge_index/f1.txt", "4 x\n");
  ExpectComplaint(ErrorCode::kCorrupt, "f1.txt:1: 'x'");
}

}  // namespace
}  // namespace graphd
