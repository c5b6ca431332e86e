// SPDX-License-Identifier: Apache-2.0
#include "format/write_part_config.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "format/config/part_config.h"
#include "format/native/header.h"
#include "graph/id_json.h"

namespace graphd {
namespace {

using nlohmann::ordered_json;

ordered_json RangesOf(const IdMap& map, int32_t type) {
  ordered_json list = ordered_json::array();
  for (const IdMap::Range& range : map.ranges()[static_cast<size_t>(type)]) {
    list.push_back({range.begin, range.end});
  }
  return list;
}

}  // namespace

void WritePartConfig(const std::string& directory, const GraphMeta& meta, PartFormat format) {
  const bool native = format == PartFormat::kNative;
  ordered_json root;
  root["graph_name"] = meta.graph_name;
  if (native) root["format"] = kNativeFormatName;
  root["num_nodes"] = meta.book.nodes().total();
  root["num_edges"] = meta.book.edges().total();
  root["part_method"] = meta.part_method;
  root["num_parts"] = meta.book.num_partitions();
  root["halo_hops"] = meta.halo_hops;
  for (const char* key : {"node_map", "edge_map", "ntypes", "etypes"}) {
    root[key] = ordered_json::object();
  }
  // Write types by id: old DGL versions number types by their order in the file.
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    const std::string& name = meta.schema.ntype(t);
    root["node_map"][name] = RangesOf(meta.book.nodes(), t);
    root["ntypes"][name] = t;
  }
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const std::string name = meta.schema.etype(e).ToString();
    root["edge_map"][name] = RangesOf(meta.book.edges(), e);
    root["etypes"][name] = e;
  }
  const std::string ending = native ? ".seg" : ".dgl";
  for (PartId p = 0; p < meta.book.num_partitions(); p++) {
    const std::string part = PartDirectoryName(p) + "/";
    root["part-" + std::to_string(p)] = {{"node_feats", part + "node_feat" + ending},
                                         {"edge_feats", part + "edge_feat" + ending},
                                         {"part_graph", part + "graph" + ending}};
  }
  const int indent = native ? 2 : 4;
  WriteFileAtomically(JoinPath(directory, meta.graph_name + ".json"), root.dump(indent) + "\n");
  SyncDirectory(directory);
}

}  // namespace graphd
