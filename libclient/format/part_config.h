// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/partition.h"

// <graph_name>.json: the part config that DGL's partition_graph and `graphctl partition` write.
// Ours keeps every key of DGL's and adds "format": "graphd-1"; the part_graph, node_feats and
// edge_feats of a native partition name its .seg files. Keys and forms that old DGL versions wrote
// (plain relation names, cumulative lists, .npy maps) are accepted.

namespace graphd {

enum class PartFormat { kDgl, kNative };

struct PartFiles {
  std::string part_graph, node_feats, edge_feats;  // paths that exist, resolved
};

struct PartConfig {
  std::string path;
  PartFormat format = PartFormat::kDgl;
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartFiles> parts;  // by PartId
};

// Reads and checks a part config. Paths in it are tried relative to the JSON's directory, then as
// part<i>/<basename> beside the JSON (DGL's copy_files.py leaves such), then relative to the
// working directory. Throws Error(kNotFound), Error(kCorrupt) with file, key, value and
// expectation.
PartConfig LoadPartConfig(const std::string& path);

}  // namespace graphd
