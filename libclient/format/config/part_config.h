// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/partition.h"

// <graph_name>.json: the part config that DGL's partition_graph and `graphctl partition` write.
// Ours keeps every key of DGL's and adds "format": "graphd-1"; the part_graph, node_feats and
// edge_feats of a native partition name its .seg files. Keys and forms that old DGL versions wrote
// are accepted:
//
//   graph_name, num_nodes, num_edges, num_parts    required
//   part_method ("metis" if absent), halo_hops (1)
//   ntypes, etypes    {name: id}; absent: one type, "_N" and "_N:_E:_N"
//   node_map, edge_map
//     {name: [[begin, end], ...]}    one half-open range per partition
//     {name: [end, ...]}, [end, ...] cumulative ends
//     "path of an .npy"              owner of each id (DGL 0.5-0.9, reshuffle=False)
//   part-<i>: {part_graph, node_feats, edge_feats}
//
// Edge types are "src:rel:dst"; a bare relation (DGL 0.6-0.9) gets its ends from the node types at
// the ends of one of its edges, found in any partition that is here.

namespace graphd {

enum class PartFormat { kDgl, kNative };

struct PartFiles {
  std::string part_graph, node_feats, edge_feats;  // resolved; see LoadPartConfig
};

struct PartConfig {
  std::string path;
  PartFormat format = PartFormat::kDgl;
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartFiles> parts;  // by PartId
};

}  // namespace graphd
