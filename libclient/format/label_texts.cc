// SPDX-License-Identifier: Apache-2.0
#include "format/label_texts.h"

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/node_names.h"

namespace graphd {
namespace {

constexpr const char* kLabelsEnding = ".labels.txt.gz";

}  // namespace

std::vector<std::string> WriteLabelTexts(const std::string& directory,
                                         const std::string& graph_name, const RawGraph& graph) {
  std::vector<std::string> paths;
  const auto write = [&](const std::string& type, const std::vector<RawFeature>& features) {
    for (const RawFeature& feature : features) {
      if (!feature.labels) continue;
      const std::string file = StrCat(graph_name, ".", type, ".", feature.name, kLabelsEnding);
      paths.push_back(JoinPath(directory, file));
      WriteNames(paths.back(), *feature.labels);
    }
  };
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    write(graph.schema.ntype(t), graph.nodes[Index(t)].features);
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    write(graph.schema.etype(e).ToString(), graph.edges[Index(e)].features);
  }
  return paths;
}

void RemoveLabelTexts(const std::string& directory, const std::string& graph_name) {
  RemoveListFiles(directory, graph_name, kLabelsEnding);
}

}  // namespace graphd
