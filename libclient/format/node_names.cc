// SPDX-License-Identifier: Apache-2.0
#include "format/node_names.h"

#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/index.h"

namespace graphd {

namespace {

constexpr const char* kEnding = ".ids.txt.gz";

}  // namespace

std::string NodeNamesFileName(const std::string& graph_name, const std::string& ntype) {
  return graph_name + "." + ntype + kEnding;
}

void CopyNames(const std::string& from, const std::string& to) {
  const MappedFile file(from);
  const std::span<const std::byte> bytes = file.bytes();
  WriteFileAtomically(to, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void RemoveNodeNames(const std::string& directory, const std::string& graph_name) {
  RemoveListFiles(directory, graph_name, kEnding);
}

void RemoveListFiles(const std::string& directory, const std::string& graph_name,
                     const std::string& end) {
  namespace fs = std::filesystem;
  const std::string begin = graph_name + ".";
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string file = entry.path().filename().string();
    const size_t at = file.rfind(end);
    if (!file.starts_with(begin) || at == file.npos) continue;
    const std::string rest = file.substr(at + end.size());
    if (rest.empty() || rest.starts_with(".tmp")) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path);
}

std::vector<std::string> FindNodeNames(const PartConfig& config) {
  const GraphMeta& meta = *config.meta;
  std::vector<std::string> paths;
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    const std::string file = NodeNamesFileName(meta.graph_name, meta.schema.ntype(t));
    const std::string path = JoinPath(DirName(config.path), file);
    // A damaged part config may have type names that lead to other directories.
    const bool beside = file.find('/') == file.npos;
    paths.push_back(beside && FileExists(path) ? path : "");
  }
  return paths;
}

std::map<std::string, std::string> WriteNodeNames(const std::string& directory,
                                                  const std::string& graph_name,
                                                  const RawGraph& graph) {
  std::map<std::string, std::string> paths;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    const RawNodes& nodes = graph.nodes[Index(t)];
    const std::string& ntype = graph.schema.ntype(t);
    const std::string path = JoinPath(directory, NodeNamesFileName(graph_name, ntype));
    if (nodes.names) {
      WriteNames(path, *nodes.names);
    } else if (!nodes.names_file.empty()) {
      CopyNames(nodes.names_file, path);
    } else {
      continue;
    }
    paths.emplace(ntype, path);
  }
  return paths;
}

void CopyNodeNames(const PartConfig& config, const std::string& directory) {
  for (const std::string& path : FindNodeNames(config)) {
    if (path.empty()) continue;
    CopyNames(path, JoinPath(directory, std::filesystem::path(path).filename().string()));
  }
}

}  // namespace graphd
