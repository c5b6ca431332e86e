// SPDX-License-Identifier: Apache-2.0
#include "format/label_texts.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/load.h"
#include "format/node_names.h"
#include "graph/partition.h"

namespace graphd {
namespace {

constexpr const char* kLabelsEnding = ".labels.txt.gz";

std::string FileName(const std::string& graph_name, const std::string& type,
                     const std::string& feature) {
  return StrCat(graph_name, ".", type, ".", feature, kLabelsEnding);
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
              "' has labels, and their texts are stored in a file that is named after the feature; "
              "rename the feature, so that its name has no slash");
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
  const Schema& schema = config.meta->schema;
  std::set<std::string> features;  // names of arrays
  for (PartId part = 0; part < config.meta->book.num_partitions(); part++) {
    try {
      for (const ArraySpec& array : FeatureArrays(config, part)) features.insert(array.name);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
    }
  }
  std::vector<std::string> paths;
  const auto add = [&](const std::string& prefix, const std::string& type) {
    for (auto at = features.lower_bound(prefix); at != features.end(); ++at) {
      if (!at->starts_with(prefix)) break;
      const std::string path = FindLabelTexts(config, type, at->substr(prefix.size()));
      if (!path.empty()) paths.push_back(path);
    }
  };
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    add(Partition::NodeFeatureName(t, ""), schema.ntype(t));
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    add(Partition::EdgeFeatureName(e, ""), schema.etype(e).ToString());
  }
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
