// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/partition.h"

namespace graphd {

enum class PartFormat { kDgl, kNative };

struct PartFiles {
  std::string part_graph, node_feats, edge_feats;  // resolved; see LoadPartConfig
};

struct PartConfig {
  std::string path;
  PartFormat format = PartFormat::kDgl;
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartFiles> parts;   // by PartId
  std::vector<std::string> maps;  // .npy files of a mapped book, which are read with the config
};

// Returns the name of a partition's directory, which is beside the part config that graphd writes.
inline std::string PartDirectoryName(int32_t part) { return "part" + std::to_string(part); }

}  // namespace graphd
