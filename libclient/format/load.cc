// SPDX-License-Identifier: Apache-2.0
#include "format/load.h"

#include "base/file.h"
#include "base/strings.h"
#include "format/dgl/features.h"
#include "format/dgl/import.h"
#include "format/native/load_partition.h"

namespace graphd {
namespace {

void CheckPart(const PartConfig& config, PartId part) {
  if (part < 0 || static_cast<size_t>(part) >= config.parts.size()) {
    Throw(ErrorCode::kNotFound, config.path, ": no partition ", part, "; there are 0..",
          config.parts.size() - 1);
  }
}

// Throws Error(kCorrupt) unless the array is called node/<id of a type>/<name> or edge/<id of a
// type>/<name>, and has rows.
void CheckFeatureArray(const PartConfig& config, PartId part, const ArraySpec& array) {
  const Schema& schema = config.meta->schema;
  const bool is_node = array.name.starts_with("node/");
  const int32_t types = is_node ? schema.num_ntypes() : schema.num_etypes();
  for (int32_t type = 0; type < types; type++) {
    const std::string prefix = StrCat(is_node ? "node/" : "edge/", type, "/");
    if (array.name.starts_with(prefix) && !array.shape.empty()) return;
  }
  Throw(ErrorCode::kCorrupt, config.path, ": partition ", part, " has an array '", array.name,
        "' of ", array.shape.size(),
        " dimensions, which is not a feature of a type; copy or partition ", "it again");
}

}  // namespace

uint64_t EstimatePartitionBytes(const PartConfig& config, PartId part) {
  CheckPart(config, part);
  if (config.format == PartFormat::kNative) return EstimateNativeBytes(config, part);
  return EstimateDglBytes(config, part);
}

std::vector<ArraySpec> FeatureArrays(const PartConfig& config, PartId part) {
  CheckPart(config, part);
  std::vector<ArraySpec> features;
  const auto add = [&](const SegmentLayout& layout) {
    for (const ArraySpec& array : layout.arrays()) {
      if (array.name.starts_with("csc/")) continue;
      CheckFeatureArray(config, part, array);
      features.push_back(array);
    }
  };
  if (config.format == PartFormat::kNative) {
    for (const NativeSegmentInfo& segment : ReadNativeHeaderOf(config, part).segments) {
      add(segment.layout);
    }
  } else {
    const PartFiles& files = config.parts[static_cast<size_t>(part)];
    add(DglFeatures(files.node_feats, *config.meta, part, FeatureKind::kNode).layout());
    add(DglFeatures(files.edge_feats, *config.meta, part, FeatureKind::kEdge).layout());
  }
  return features;
}

std::vector<std::string> PartitionFiles(const PartConfig& config, PartId part) {
  CheckPart(config, part);
  std::vector<std::string> paths = {config.path};
  paths.insert(paths.end(), config.maps.begin(), config.maps.end());
  if (config.format == PartFormat::kNative) {
    const std::string directory = NativeDirectory(config, part);
    paths.push_back(JoinPath(directory, kNativeHeaderFile));
    for (const NativeSegmentInfo& segment : ReadNativeHeaderOf(config, part).segments) {
      paths.push_back(JoinPath(directory, segment.file));
    }
  } else {
    const PartFiles& files = config.parts[static_cast<size_t>(part)];
    paths.insert(paths.end(), {files.part_graph, files.node_feats, files.edge_feats});
  }
  return paths;
}

std::shared_ptr<const Partition> LoadPartition(const PartConfig& config, PartId part,
                                               const LoadOptions& options) {
  CheckPart(config, part);
  if (config.format == PartFormat::kNative) return LoadNativePartition(config, part, options);
  return LoadDglPartition(config, part, options);
}

}  // namespace graphd
