// SPDX-License-Identifier: Apache-2.0
#include "format/label_texts.h"

#include <functional>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/node_names.h"

namespace graphd {
namespace {

constexpr const char* kLabelsEnding = ".labels.txt.gz";

// Calls f(name of the file, feature) for each feature that has labels.
void ForEachFile(const std::string& graph_name, const RawGraph& graph,
                 const std::function<void(const std::string&, const RawFeature&)>& f) {
  const auto visit = [&](const std::string& type, const std::vector<RawFeature>& features) {
    for (const RawFeature& feature : features) {
      if (!feature.labels && feature.labels_file.empty()) continue;
      const std::string file = StrCat(graph_name, ".", type, ".", feature.name, kLabelsEnding);
      if (file.find('/') != file.npos) {
        Throw(ErrorCode::kInvalid, "feature '", feature.name, "' of '", type,
              "' has labels, whose ",
              "texts need a file of its name; rename it, so that the name has no slash");
      }
      f(file, feature);
    }
  };
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    visit(graph.schema.ntype(t), graph.nodes[Index(t)].features);
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    visit(graph.schema.etype(e).ToString(), graph.edges[Index(e)].features);
  }
}

}  // namespace

void CheckLabelTexts(const std::string& graph_name, const RawGraph& graph) {
  ForEachFile(graph_name, graph, [](const std::string&, const RawFeature&) {});
}

std::vector<std::string> WriteLabelTexts(const std::string& directory,
                                         const std::string& graph_name, const RawGraph& graph) {
  std::vector<std::string> paths;
  ForEachFile(graph_name, graph, [&](const std::string& file, const RawFeature& feature) {
    paths.push_back(JoinPath(directory, file));
    if (feature.labels) {
      WriteNames(paths.back(), *feature.labels);
    } else {
      CopyNames(feature.labels_file, paths.back());
    }
  });
  return paths;
}

void RemoveLabelTexts(const std::string& directory, const std::string& graph_name) {
  RemoveListFiles(directory, graph_name, kLabelsEnding);
}

}  // namespace graphd
