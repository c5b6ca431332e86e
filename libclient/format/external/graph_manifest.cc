// SPDX-License-Identifier: Apache-2.0
#include "format/external/graph_manifest.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/io/json_field.h"

namespace graphd {
namespace {

using nlohmann::ordered_json;

std::string ManifestPath(const SpillFiles& spill) {
  return JoinPath(spill.directory(), kGraphManifest);
}

void RemoveUnusedFiles(const SpillFiles& spill, const std::set<std::string>& used) {
  namespace fs = std::filesystem;
  std::vector<fs::path> unused;
  for (const auto& entry : fs::directory_iterator(spill.directory())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("data") && !used.contains(entry.path().string())) {
      unused.push_back(entry.path());
    }
  }
  for (const fs::path& path : unused) fs::remove(path);
}

// Adds the paths of all files that a manifest names.
void CollectFiles(const nlohmann::json& json, std::set<std::string>& files) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_structured()) CollectFiles(value, files);
    if (!value.is_string()) continue;
    if (name == "file" || name == "names" || name == "labels") {
      files.insert(value.get<std::string>());
    }
  }
}

class Writer {
 public:
  explicit Writer(SpillFiles& spill) : spill_(spill) {}

  ordered_json Nodes(const RawNodes& nodes) {
    ordered_json json{{"count", nodes.count}, {"features", Features(nodes.features)}};
    json["names"] = nodes.names ? Texts(*nodes.names) : nodes.names_file;
    return json;
  }

  ordered_json Edges(const RawEdges& edges) {
    return {{"src", Array(edges.src)},
            {"dst", Array(edges.dst)},
            {"add_reverse", edges.add_reverse ? 1 : 0},
            {"features", Features(edges.features)}};
  }

  // Removes the files that intermediate arrays have left.
  void RemoveUnused() const { RemoveUnusedFiles(spill_, used_); }

 private:
  // Writes texts and returns the path of their file.
  std::string Texts(const NameTable& texts) {
    std::string path = spill_.NewPath();
    WriteNames(path, texts);
    used_.insert(path);
    return path;
  }

  ordered_json Array(const Tensor& tensor) {
    std::optional<FileRange> range = spill_.Find(tensor);
    if (!range) {
      SpillFile file(spill_.NewPath());
      file.Append({tensor.data(), tensor.num_bytes()});
      file.Flush();
      range = FileRange{file.path(), 0};
    }
    used_.insert(range->path);
    return {{"file", range->path},
            {"offset", range->offset},
            {"dtype", DTypeName(tensor.dtype())},
            {"shape", tensor.shape()}};
  }

  ordered_json Features(const std::vector<RawFeature>& features) {
    ordered_json list = ordered_json::array();
    for (const RawFeature& feature : features) {
      list.push_back({{"name", feature.name},
                      {"values", Array(feature.values)},
                      {"labels", feature.labels ? Texts(*feature.labels) : feature.labels_file}});
    }
    return list;
  }

  SpillFiles& spill_;
  std::set<std::string> used_;
};

Tensor ReadArray(const JsonField& json, SpillFiles& spill) {
  const FileRange range{json["file"].String(),
                        static_cast<uint64_t>(json["offset"].Int(0, INT64_MAX))};
  std::vector<int64_t> shape;
  const JsonField extents = json["shape"];
  for (size_t i = 0; i < extents.size(); i++) shape.push_back(extents[i].Int(0, INT64_MAX));
  return spill.Map(range, DTypeFromName(json["dtype"].String()), std::move(shape));
}

std::vector<RawFeature> ReadFeatures(const JsonField& list, SpillFiles& spill) {
  std::vector<RawFeature> features;
  for (size_t i = 0; i < list.size(); i++) {
    features.push_back({.name = list[i]["name"].String(),
                        .values = ReadArray(list[i]["values"], spill),
                        .labels_file = list[i]["labels"].String()});
  }
  return features;
}

}  // namespace

bool HasRawGraph(const SpillFiles& spill) { return FileExists(ManifestPath(spill)); }

void SaveRawGraph(const RawGraph& graph, SpillFiles& spill) {
  Writer writer(spill);
  ordered_json root;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    ordered_json nodes = writer.Nodes(graph.nodes[Index(t)]);
    nodes["type"] = graph.schema.ntype(t);
    root["nodes"].push_back(std::move(nodes));
  }
  root["edges"] = ordered_json::array();
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    ordered_json edges = writer.Edges(graph.edges[Index(e)]);
    const CanonicalEdgeType& type = graph.schema.etype(e);
    edges["type"] = {type.src, type.rel, type.dst};
    root["edges"].push_back(std::move(edges));
  }
  writer.RemoveUnused();
  WriteFileAtomically(ManifestPath(spill), root.dump(1) + "\n");
}

RawGraph LoadRawGraph(SpillFiles& spill) {
  const std::string path = ManifestPath(spill);
  const nlohmann::json document = ParseJsonFile(path);
  const JsonField root(document, path);
  std::vector<std::string> ntypes;
  std::vector<CanonicalEdgeType> etypes;
  RawGraph graph;
  const JsonField nodes = root["nodes"], edges = root["edges"];
  for (size_t t = 0; t < nodes.size(); t++) {
    ntypes.push_back(nodes[t]["type"].String());
    RawNodes& of_type = graph.nodes.emplace_back();
    of_type.count = nodes[t]["count"].Int(0, kMaxRawCount);
    of_type.features = ReadFeatures(nodes[t]["features"], spill);
    of_type.names_file = nodes[t]["names"].String();
  }
  for (size_t e = 0; e < edges.size(); e++) {
    const JsonField type = edges[e]["type"];
    etypes.push_back({type[0].String(), type[1].String(), type[2].String()});
    RawEdges& of_type = graph.edges.emplace_back();
    of_type.src = ReadArray(edges[e]["src"], spill);
    of_type.dst = ReadArray(edges[e]["dst"], spill);
    of_type.add_reverse = edges[e]["add_reverse"].Int(0, 1) != 0;
    of_type.features = ReadFeatures(edges[e]["features"], spill);
  }
  graph.schema = Schema(std::move(ntypes), std::move(etypes));
  std::set<std::string> used;
  CollectFiles(document, used);
  RemoveUnusedFiles(spill, used);
  return graph;
}

}  // namespace graphd
