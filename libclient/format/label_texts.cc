// SPDX-License-Identifier: Apache-2.0
#include "format/label_texts.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/node_names.h"

namespace graphd {
namespace {

constexpr const char* kLabelsEnding = ".labels.txt.gz";

std::string FileName(const std::string& graph_name, const std::string& type,
                     const std::string& feature) {
  return StrCat(graph_name, ".", type, ".", feature, kLabelsEnding);
}

std::vector<std::string> TypesOf(const Schema& schema) {
  std::vector<std::string> types;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) types.push_back(schema.ntype(t));
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) types.push_back(schema.etype(e).ToString());
  return types;
}

// Calls f(name of the file, feature) for each feature that has labels.
void ForEachFile(const std::string& graph_name, const RawGraph& graph,
                 const std::function<void(const std::string&, const RawFeature&)>& f) {
  const auto visit = [&](const std::string& type, const std::vector<RawFeature>& features) {
    for (const RawFeature& feature : features) {
      if (!feature.labels && feature.labels_file.empty()) continue;
      const std::string file = FileName(graph_name, type, feature.name);
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

std::string FindLabelTexts(const PartConfig& config, const std::string& type,
                           const std::string& feature) {
  const std::string file = FileName(config.meta->graph_name, type, feature);
  // A damaged part config may have names that lead to other directories.
  if (file.find('/') != file.npos) return "";
  const std::string path = JoinPath(DirName(config.path), file);
  return FileExists(path) ? path : "";
}

std::vector<std::string> ListLabelTexts(const PartConfig& config) {
  namespace fs = std::filesystem;
  const std::string directory = DirName(config.path);
  const std::vector<std::string> types = TypesOf(config.meta->schema);
  const auto is_of_graph = [&](const std::string& file) {
    return file.ends_with(kLabelsEnding) &&
           std::any_of(types.begin(), types.end(), [&](const std::string& type) {
             return file.starts_with(StrCat(config.meta->graph_name, ".", type, "."));
           });
  };
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (is_of_graph(file)) paths.push_back(JoinPath(directory, file));
  }
  if (error) Throw(ErrorCode::kIo, "can't list ", directory, ": ", error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void CopyLabelTexts(const PartConfig& config, const std::string& directory) {
  for (const std::string& path : ListLabelTexts(config)) {
    CopyNames(path, JoinPath(directory, std::filesystem::path(path).filename().string()));
  }
}

void RemoveLabelTexts(const std::string& directory, const std::string& graph_name) {
  RemoveListFiles(directory, graph_name, kLabelsEnding);
}

}  // namespace graphd
