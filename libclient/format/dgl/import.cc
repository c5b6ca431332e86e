// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/import.h"

#include "format/dgl/csc.h"
#include "format/dgl/features.h"

namespace graphd {
namespace {

// The three files of a partition, opened, with their headers checked.
struct Files {
  MappedFile graph_file;
  DglGraph graph;
  DglFeatures node_features, edge_features;
};

Files Open(const PartConfig& config, PartId part) {
  const GraphMeta& meta = *config.meta;
  const PartFiles& paths = config.parts[static_cast<size_t>(part)];
  MappedFile graph_file(paths.part_graph);
  DglGraph graph = ReadDglGraph(ByteReader(graph_file.bytes(), paths.part_graph));
  // Check the sizes before anything is allocated according to the part config.
  const int64_t nodes = meta.book.nodes().count_in(part), edges = meta.book.edges().count_in(part);
  if (nodes > graph.num_nodes || edges > graph.num_edges) {
    Throw(ErrorCode::kCorrupt, paths.part_graph, ": has ", graph.num_nodes, " nodes and ",
          graph.num_edges, " edges, but ", config.path, " gives partition ", part, " ", nodes,
          " and ", edges, "; they come from different partitionings, or one is damaged");
  }
  return {std::move(graph_file), std::move(graph),
          DglFeatures(paths.node_feats, meta, part, FeatureKind::kNode),
          DglFeatures(paths.edge_feats, meta, part, FeatureKind::kEdge)};
}

uint64_t LayoutBytes(const Files& files, const GraphMeta& meta, PartId part) {
  return DglCscLayout(meta, part, {}).total_bytes() + files.node_features.layout().total_bytes() +
         files.edge_features.layout().total_bytes();
}

}  // namespace

uint64_t EstimateDglBytes(const PartConfig& config, PartId part) {
  return LayoutBytes(Open(config, part), *config.meta, part);
}

std::shared_ptr<const Partition> LoadDglPartition(const PartConfig& config, PartId part,
                                                  const LoadOptions& options) {
  const GraphMeta& meta = *config.meta;
  const std::string& path = config.parts[static_cast<size_t>(part)].part_graph;
  const Files files = Open(config, part);
  const uint64_t total = LayoutBytes(files, meta, part);
  uint64_t done = 0;
  const auto progress = [&](uint64_t bytes) {
    done = std::min(done + bytes, total);
    if (options.progress) options.progress(done, total);
  };
  // The name of a memory file (memfd_create) may have at most 249 bytes.
  const std::string name = StrCat(meta.graph_name.substr(0, 100), "/", part);

  const DglOwned::Source node_source{"node", path, files.graph.node_data, "inner_node"};
  const DglOwned::Source edge_source{"edge", path, files.graph.edge_data, "inner_edge"};
  const DglOwned nodes(node_source, meta.book.nodes(), part);
  const DglOwned edges(edge_source, meta.book.edges(), part);
  std::shared_ptr<const Segment> structure;
  {
    const DglEdges ends(files.graph, path);
    structure = BuildDglCsc({path, meta, part, ends, nodes, edges, DglIdColumn(node_source, "_ID")},
                            name + "/graph");
  }
  progress(DglCscLayout(meta, part, {}).total_bytes());
  auto node_features =
      files.node_features.Load(name + "/nodes", nodes.FileRows(meta.book.nodes(), part), progress);
  auto edge_features =
      files.edge_features.Load(name + "/edges", edges.FileRows(meta.book.edges(), part), progress);
  try {
    auto partition = std::make_shared<const Partition>(
        config.meta, part,
        std::vector<std::shared_ptr<const Segment>>{structure, node_features, edge_features});
    partition->Validate();
    return partition;
  } catch (const Error& error) {
    Throw(error.code(), path, ": ", error.what());
  }
}

}  // namespace graphd
