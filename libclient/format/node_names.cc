// SPDX-License-Identifier: Apache-2.0
#include "format/node_names.h"

#include <filesystem>
#include <vector>

#include "base/file.h"

namespace graphd {

namespace {
constexpr const char* kEnding = ".ids.txt.gz";
}

void RemoveNodeNames(const std::string& directory, const std::string& graph_name) {
  namespace fs = std::filesystem;
  const std::string begin = graph_name + ".", end = kEnding;
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

void WriteNodeNames(const std::string& directory, const std::string& graph_name,
                    const RawGraph& graph) {
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    const RawNodes& nodes = graph.nodes[static_cast<size_t>(t)];
    const std::string file = graph_name + "." + graph.schema.ntype(t) + kEnding;
    if (nodes.names) WriteNames(JoinPath(directory, file), *nodes.names);
  }
}

}  // namespace graphd
