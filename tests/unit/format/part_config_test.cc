// SPDX-License-Identifier: Apache-2.0
#include "format/load_part_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "format/load.h"
#include "tests/unit/format/fixture_files.h"
#include "tests/unit/format/hand_made.h"

namespace graphd::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class PartConfigForms : public testing::Test {
 protected:
  PartConfigForms() { root_ = json::parse(Homogeneous()); }

  static std::string Homogeneous() {
    return R"({"graph_name": "g", "num_nodes": 6, "num_edges": 8, "num_parts": 2,
      "part_method": "metis", "halo_hops": 2,
      "node_map": {"_N": [[0, 3], [3, 6]]}, "edge_map": {"_N:_E:_N": [[0, 3], [3, 8]]},
      "ntypes": {"_N": 0}, "etypes": {"_N:_E:_N": 0},
      "part-0": {"node_feats": "part0/node_feat.dgl", "edge_feats": "part0/edge_feat.dgl",
                 "part_graph": "part0/graph.dgl"},
      "part-1": {"node_feats": "part1/node_feat.dgl", "edge_feats": "part1/edge_feat.dgl",
                 "part_graph": "part1/graph.dgl"}})";
  }

  PartConfig Load() {
    WriteAll(folder_ / "g.json", root_.dump());
    return LoadPartConfig(folder_ / "g.json");
  }
  std::string Complaint(ErrorCode code = ErrorCode::kCorrupt) {
    try {
      Load();
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCodeName(error.code()), std::string(ErrorCodeName(code))) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(folder_.path()));
      return error.what();
    }
  }
  // Writes a .npy of version 1 as NumPy does.
  void WriteNpy(const std::string& name, const std::vector<int64_t>& values) {
    std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" +
                         std::to_string(values.size()) + ",), }";
    header.resize(117, ' ');
    header += '\n';
    std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
    text += header;
    text.append(reinterpret_cast<const char*>(values.data()), 8 * values.size());
    WriteAll(folder_ / name, text);
  }

  TempFolder folder_;
  json root_;
};

TEST_F(PartConfigForms, TheCurrentFormIsRead) {
  const PartConfig config = Load();
  EXPECT_EQ(config.format, PartFormat::kDgl);
  EXPECT_EQ(config.meta->graph_name, "g");
  EXPECT_EQ(config.meta->part_method, "metis");
  EXPECT_EQ(config.meta->halo_hops, 2);
  EXPECT_TRUE(config.meta->schema.is_homogeneous());
  EXPECT_EQ(config.meta->book.nodes().OwnerOfHomo(3), 1);
  EXPECT_EQ(config.meta->book.edges().count_in(1), 5);
  EXPECT_EQ(config.parts[1].part_graph, folder_ / "part1/graph.dgl");
}

TEST_F(PartConfigForms, TheNativeFormatIsDetectedByItsKey) {
  root_["format"] = "graphd-1";
  EXPECT_EQ(Load().format, PartFormat::kNative);
  root_["format"] = "graphd-99";
  EXPECT_THAT(Complaint(ErrorCode::kVersion), HasSubstr("graphd-99"));
}

TEST_F(PartConfigForms, GraphBoltsPartitionsAreNotSupportedRatherThanCorrupt) {
  root_ = json::parse(Homogeneous());
  root_["part-0"] = {{"part_graph_graphbolt", "x.pt"}};
  EXPECT_THAT(Complaint(ErrorCode::kInvalid),
              AllOf(HasSubstr("part-0: GraphBolt's partitions are not supported"),
                    HasSubstr("use_graphbolt=False")));
}

TEST_F(PartConfigForms, TypesMayBeMissingAndRangesMayBeCumulativeEnds) {
  for (const json& map : {json({3, 6}), json{{"_N", {3, 6}}}}) {
    root_ = json::parse(Homogeneous());
    root_.erase("ntypes");
    root_.erase("etypes");
    root_["node_map"] = map;
    root_["edge_map"] = {3, 8};
    const PartConfig config = Load();
    EXPECT_TRUE(config.meta->schema == Schema::Homogeneous());
    EXPECT_EQ(config.meta->book.nodes().count_in(1), 3);
    EXPECT_EQ(config.meta->book.edges().count_in(1), 5);
  }
}

TEST_F(PartConfigForms, OldHomogeneousEdgeTypesAreBareRelations) {
  root_["etypes"] = {{"_E", 0}};
  root_["edge_map"] = {{"_E", {{0, 3}, {3, 8}}}};
  EXPECT_TRUE(Load().meta->schema == Schema::Homogeneous());
  root_.erase("etypes");
  EXPECT_TRUE(Load().meta->schema == Schema::Homogeneous());
}

TEST_F(PartConfigForms, NpyMapsAreFoundByPathAndBesideTheJson) {
  WriteNpy("node_map.npy", {1, 0, 0, 1, 1, 1});
  WriteNpy("edge_map.npy", {0, 0, 0, 1, 1, 1, 1, 1});
  for (const std::string& directory : {folder_.path(), std::string("/nowhere/at/all")}) {
    root_["node_map"] = directory + "/node_map.npy";
    root_["edge_map"] = directory + "/edge_map.npy";
    const PartConfig config = Load();
    EXPECT_FALSE(config.meta->book.nodes().is_range());
    EXPECT_EQ(config.meta->book.nodes().IdsOf(0, 0), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(config.meta->book.edges().count_in(1), 5);
  }
  WriteNpy("node_map.npy", {1, 0, 0, 1, 1, 2});
  EXPECT_THAT(Complaint(), HasSubstr("belongs to partition 2, expected 0..1"));
  WriteNpy("node_map.npy", {1, 0, 0, 1, 1});
  EXPECT_THAT(Complaint(), AllOf(HasSubstr("num_nodes is 6"), HasSubstr("expected 5")));
  std::filesystem::remove(folder_ / "node_map.npy");
  EXPECT_THAT(Complaint(ErrorCode::kNotFound), HasSubstr("node_map.npy"));
}

TEST_F(PartConfigForms, FilesAreFoundInTheThreePlacesWhereDglPutsThem) {
  // copy_files.py writes data/part0/... into <workspace>/data/g.json, although part0 is beside the
  // JSON.
  root_["part-0"]["part_graph"] = "data/part0/graph.dgl";
  WriteAll(folder_ / "part0/graph.dgl", "");
  EXPECT_EQ(Load().parts[0].part_graph, folder_ / "part0/graph.dgl");
  WriteAll(folder_ / "data/part0/graph.dgl", "");
  EXPECT_EQ(Load().parts[0].part_graph, folder_ / "data/part0/graph.dgl");
  root_["part-0"]["part_graph"] = "/gone/away/graph.dgl";
  EXPECT_EQ(Load().parts[0].part_graph, folder_ / "part0/graph.dgl");
  root_["part-0"]["part_graph"] = folder_ / "data/part0/graph.dgl";
  EXPECT_EQ(Load().parts[0].part_graph, folder_ / "data/part0/graph.dgl");

  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  WriteAll(folder_ / "sub/g.json", root_.dump());
  WriteAll(folder_ / "here.dgl", "");
  root_["part-0"]["part_graph"] = "here.dgl";
  WriteAll(folder_ / "sub/g.json", root_.dump());
  EXPECT_EQ(LoadPartConfig("sub/g.json").parts[0].part_graph, "here.dgl");
  std::filesystem::current_path(before);
}

TEST_F(PartConfigForms, FalseClaimsAreErrorsWithKeyValueAndExpectation) {
  const auto after = [&](auto&& change) {
    root_ = json::parse(Homogeneous());
    change(root_);
    return Complaint();
  };
  EXPECT_THAT(after([](json& r) { r.erase("num_parts"); }), HasSubstr("key num_parts is missing"));
  EXPECT_THAT(after([](json& r) { r["num_parts"] = 3; }),
              AllOf(HasSubstr("num_parts is 3"), HasSubstr("expected 2")));
  EXPECT_THAT(after([](json& r) { r["num_parts"] = 1; }), HasSubstr("num_parts is 1"));
  EXPECT_THAT(after([](json& r) { r["num_parts"] = -1; }), HasSubstr("num_parts is -1"));
  EXPECT_THAT(after([](json& r) { r["num_parts"] = 1e300; }), HasSubstr("num_parts is 1e+300"));
  EXPECT_THAT(after([](json& r) { r["num_nodes"] = 7; }), HasSubstr("num_nodes is 7, expected 6"));
  EXPECT_THAT(after([](json& r) { r["num_nodes"] = "6"; }), HasSubstr("num_nodes is \"6\""));
  EXPECT_THAT(after([](json& r) { r["num_edges"] = UINT64_MAX; }), HasSubstr("num_edges is"));
  EXPECT_THAT(after([](json& r) { r["graph_name"] = 5; }), HasSubstr("graph_name is 5"));
  EXPECT_THAT(after([](json& r) { r["node_map"]["_N"][1][0] = 4; }),
              AllOf(HasSubstr("node_map"), HasSubstr("begins at 3")));
  EXPECT_THAT(after([](json& r) {
                r["node_map"]["_N"][1] = {6, 3};
              }),
              HasSubstr("node_map._N[1][1] is 3"));
  EXPECT_THAT(after([](json& r) {
                r["node_map"]["_N"][0] = {0, INT64_MAX};
              }),
              HasSubstr("node_map"));
  EXPECT_THAT(after([](json& r) { r["node_map"]["_N"].erase(0); }),
              HasSubstr("a list of 1 elements"));
  EXPECT_THAT(after([](json& r) { r["node_map"]["_M"] = r["node_map"]["_N"]; }),
              HasSubstr("exactly the 1 node types"));
  EXPECT_THAT(after([](json& r) { r["ntypes"]["_M"] = 0; }),
              HasSubstr("an id that no other type has"));
  EXPECT_THAT(after([](json& r) { r["ntypes"]["_N"] = 1; }), HasSubstr("ntypes._N is 1"));
  EXPECT_THAT(after([](json& r) { r["ntypes"] = json::object(); }), HasSubstr("ntypes"));
  EXPECT_THAT(after([](json& r) {
                r["etypes"] = {{"x:y", 0}};
                r["edge_map"] = {{"x:y", {3, 8}}};
              }),
              HasSubstr("src:rel:dst"));
  EXPECT_THAT(after([](json& r) {
                r["etypes"] = {{"_N:e:_M", 0}};
                r["edge_map"] = {{"_N:e:_M", {3, 8}}};
              }),
              HasSubstr("no node type '_M'"));
  EXPECT_THAT(after([](json& r) { r["part-0"].erase("part_graph"); }),
              HasSubstr("part-0.part_graph is missing"));
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  WriteAll(folder_ / "bad.json", "{\"num_parts\": " + deep + "}");
  EXPECT_THROW(LoadPartConfig(folder_ / "bad.json"), Error);
  WriteAll(folder_ / "bad.json", "{\"graph_name\": ");
  EXPECT_THROW(LoadPartConfig(folder_ / "bad.json"), Error);
  EXPECT_THROW(LoadPartConfig(folder_ / "none.json"), Error);
}

TEST_F(PartConfigForms, BareRelationsTakeTheirTypesFromAnyLocalPartition) {
  const HandMade made({{5, 7}, {6, 3}}, 20, 3);
  for (int formats : {kCoo, kCsc}) {
    for (int missing : {-1, 0, 1, 2}) {
      made.Write(folder_.path(), formats, false, /*shuffled=*/formats == kCsc);
      std::string text = ReadAll(folder_ / "hand.json");
      for (const auto& [whole, bare] : {std::pair<std::string, std::string>{"a:to:b", "to"},
                                        {"b:back:a", "back"},
                                        {"a:self:a", "self"}}) {
        for (size_t at; (at = text.find(whole)) != text.npos;) text.replace(at, whole.size(), bare);
      }
      WriteAll(folder_ / "hand.json", text);
      if (missing == 0 || missing == 2) std::filesystem::remove(folder_ / "part0/graph.dgl");
      if (missing == 1 || missing == 2) std::filesystem::remove(folder_ / "part1/graph.dgl");
      if (missing == 2) {
        EXPECT_THROW(LoadPartConfig(folder_ / "hand.json"), Error);
      } else {
        EXPECT_TRUE(LoadPartConfig(folder_ / "hand.json").meta->schema == made.meta().schema);
      }
    }
  }
}

}  // namespace
}  // namespace graphd::test
