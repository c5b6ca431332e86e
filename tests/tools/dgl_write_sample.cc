// SPDX-License-Identifier: Apache-2.0
// dgl_write_sample DESCRIPTION OUTPUT: writes the graph that a JSON file describes (dgl_check.py
// explains its format), assigned to the owners in it, as partitions in DGL's format.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "format/dgl/export_partition.h"
#include "format/write_part_config.h"
#include "graph/id_json.h"

namespace graphd {
namespace {

using nlohmann::json;

RawFeature ReadFeature(const json& field, int64_t rows) {
  std::vector<int64_t> shape = field.at("row_shape");
  shape.insert(shape.begin(), rows);
  Tensor values = Tensor::Empty(DTypeFromName(field.at("dtype")), shape);
  const std::string hex = field.at("hex");
  if (hex.size() != 2 * values.num_bytes()) Throw(ErrorCode::kInvalid, "bytes of a feature");
  for (size_t i = 0; i < values.num_bytes(); i++) {
    values.data()[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return {field.at("name"), values};
}

Tensor ReadIds(const json& field) {
  const std::vector<uint32_t> ids = field;
  Tensor tensor = Tensor::Empty(DType::kUInt32, {std::ssize(ids)});
  if (!ids.empty()) std::memcpy(tensor.data(), ids.data(), tensor.num_bytes());
  return tensor;
}

RawGraph ReadGraph(const json& description) {
  RawGraph graph;
  std::vector<std::string> ntypes;
  for (const json& field : description.at("nodes")) {
    ntypes.push_back(field.at("type"));
    RawNodes nodes;
    nodes.count = field.at("count");
    for (const json& feature : field.at("features")) {
      nodes.features.push_back(ReadFeature(feature, nodes.count));
    }
    graph.nodes.push_back(std::move(nodes));
  }
  std::vector<CanonicalEdgeType> etypes;
  for (const json& field : description.at("edges")) {
    const json& type = field.at("type");
    etypes.push_back({type.at(0), type.at(1), type.at(2)});
    RawEdges edges;
    edges.src = ReadIds(field.at("src"));
    edges.dst = ReadIds(field.at("dst"));
    edges.add_reverse = field.value("add_reverse", false);
    for (const json& feature : field.at("features")) {
      edges.features.push_back(ReadFeature(feature, edges.stored()));
    }
    graph.edges.push_back(std::move(edges));
  }
  graph.schema = Schema(std::move(ntypes), std::move(etypes));
  return graph;
}

void Write(const std::string& path, const std::string& output) {
  const json description = json::parse(ReadTextFile(path));
  const RawGraph graph = ReadGraph(description);
  const DglWriteOptions options{description.at("num_hops"),
                                DglFormatsFromNames(description.at("formats"))};
  CheckDglOptions(options);
  CheckDglGraph(graph);
  const int32_t parts = description.at("num_parts");
  const NodeOwners owners = description.at("owners");
  const PartitionPlan plan =
      MakePartitionPlan(graph, description.at("graph_name"), parts, owners, "random");
  CheckDglPlan(graph, plan, options);
  for (PartId p = 0; p < parts; p++) {
    const std::string directory = JoinPath(output, StrCat("part", p));
    uint64_t told = 0;
    const uint64_t bytes = WriteDglPartition(graph, plan, directory, p, options,
                                             [&](uint64_t piece) { told += piece; });
    uint64_t on_disk = 0;
    for (const char* file : {"graph.dgl", "node_feat.dgl", "edge_feat.dgl"}) {
      on_disk += FileSize(JoinPath(directory, file));
    }
    if (told != bytes || bytes != on_disk) {
      Throw(ErrorCode::kInternal, "told of ", told, " bytes, ", bytes, " written, ", on_disk,
            " on the disk");
    }
  }
  GraphMeta meta = *plan.meta;
  meta.halo_hops = options.num_hops;
  WritePartConfig(output, meta, PartFormat::kDgl);
}

}  // namespace
}  // namespace graphd

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: dgl_write_sample DESCRIPTION OUTPUT\n");
    return 2;
  }
  try {
    graphd::Write(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dgl_write_sample: %s\n", error.what());
    return 1;
  }
  return 0;
}
