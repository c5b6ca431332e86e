// SPDX-License-Identifier: Apache-2.0
#include "format/graph_files.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/index.h"
#include "format/edge_files.h"
#include "format/node_table.h"
#include "format/npy.h"

namespace graphd {
namespace {

// One file with edges, its form known.
struct OpenEdgeFile {
  const EdgeFile* file;
  EdgeFileKind kind;
  EdgeTable table;  // if it is one
};

class GraphFiles {
 public:
  explicit GraphFiles(const GraphFilesOptions& options)
      : options_(options), selection_(options.feature_columns) {}

  RawGraph Read() {
    MakeSchema();
    OpenFiles();
    ChooseNames();
    for (NodeIds& ids : ids_) ReadNodes(ids);
    for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) ReadEdges(e);
    selection_.CheckAllSeen();
    for (NodeTypeId t = 0; t < graph_.schema.num_ntypes(); t++) FinishNodes(t);
    return std::move(graph_);
  }

 private:
  NodeIds& Ids(NodeTypeId t) { return ids_[Index(t)]; }

  void MakeSchema() {
    std::vector<std::string> ntypes;
    std::vector<CanonicalEdgeType> etypes;
    const auto add = [](auto& list, const auto& name) {
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    };
    for (const EdgeFile& file : options_.edges) {
      add(ntypes, file.type.src);
      add(ntypes, file.type.dst);
      add(etypes, file.type);
    }
    for (const NodeFile& file : options_.nodes) add(ntypes, file.type);
    for (const auto& [type, count] : options_.num_nodes) add(ntypes, type);
    if (etypes.empty()) Throw(ErrorCode::kInvalid, "no edges are given; --edges names their files");
    for (const std::string& name : ntypes) ids_.emplace_back(name);
    graph_.nodes.resize(ntypes.size());
    graph_.edges.resize(etypes.size());
    graph_.schema = Schema(std::move(ntypes), std::move(etypes));
  }

  void OpenFiles() {
    edge_files_.resize(graph_.edges.size());
    for (const EdgeFile& file : options_.edges) {
      if (!file.feature.empty()) continue;
      OpenEdgeFile open{&file, EdgeFileKindOf(file.path), {}};
      CheckKind(open);
      if (!file.dst_path.empty() && open.kind != EdgeFileKind::kNpy) {
        Throw(ErrorCode::kInvalid, file.path, ": only .npy files have sources and destinations ",
              "apart, as SRC.npy,DST.npy");
      }
      if (open.kind == EdgeFileKind::kTable) {
        open.table =
            OpenEdgeTable(file.path, options_.hints, options_.src_column, options_.dst_column);
      }
      edge_files_[Index(graph_.schema.EdgeTypeIdOf(file.type.ToString()))].push_back(
          std::move(open));
    }
    for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) {
      if (!edge_files_[Index(e)].empty()) continue;
      Throw(ErrorCode::kInvalid, "--edges: no file has the edges of type ",
            graph_.schema.etype(e).ToString(), ", only features");
    }
    node_tables_.resize(graph_.nodes.size());
    for (const NodeFile& file : options_.nodes) {
      if (!file.feature.empty()) continue;
      auto& table = node_tables_[Index(graph_.schema.NodeTypeIdOf(file.type))];
      if (table) {
        Throw(ErrorCode::kInvalid, "--nodes ", file.path, ": node type '", file.type,
              "' has a table already; give arrays for more features: --nodes ", file.type,
              ".feature=FILE.npy");
      }
      table.emplace(file.path, DetectTable(file.path, options_.hints));
      if (table->second.columns.empty()) {
        Throw(ErrorCode::kCorrupt, file.path, ":1: the file is empty, expected a row per node");
      }
    }
  }

  void CheckKind(const OpenEdgeFile& open) const {
    constexpr std::array kNames{"a table as text", "a .npy file", "a Matrix Market file"};
    if (!options_.kind || open.kind == *options_.kind) return;
    Throw(ErrorCode::kInvalid, open.file->path, " is ", kNames[static_cast<size_t>(open.kind)],
          ", expected ", kNames[static_cast<size_t>(*options_.kind)], " as --input_format says");
  }

  // Nodes have names if some file's first rows have ids that are no numbers.
  void ChooseNames() {
    for (NodeTypeId t = 0; t < graph_.schema.num_ntypes(); t++) {
      bool named = options_.map_ids;
      const auto& table = node_tables_[Index(t)];
      if (table) named = named || !table->second.whole[0];
      for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) {
        for (const OpenEdgeFile& open : edge_files_[Index(e)]) {
          if (open.kind != EdgeFileKind::kTable) continue;
          if (graph_.schema.src_type(e) == t) named = named || !open.table.whole_src();
          if (graph_.schema.dst_type(e) == t) named = named || !open.table.whole_dst();
        }
      }
      if (named) Ids(t).UseNames();
    }
  }

  void ReadNodes(NodeIds& ids) {
    const NodeTypeId t = graph_.schema.NodeTypeIdOf(ids.ntype());
    RawNodes& nodes = graph_.nodes[Index(t)];
    if (const auto& table = node_tables_[Index(t)]) {
      ReadNodeTable(table->first, table->second, ids, selection_, nodes, options_.progress);
    } else if (ids.named() && options_.num_nodes.contains(ids.ntype())) {
      Throw(ErrorCode::kInvalid, "--num_nodes: the nodes of type '", ids.ntype(), "' have names; ",
            "list them in a table instead: --nodes ", ids.ntype(), "=FILE");
    }
    if (const auto found = options_.num_nodes.find(ids.ntype());
        found != options_.num_nodes.end()) {
      ids.Close(found->second, "--num_nodes");
    }
    for (const NodeFile& file : options_.nodes) {
      if (file.feature.empty() || file.type != ids.ntype()) continue;
      if (ids.named() && !ids.closed()) {
        Throw(ErrorCode::kInvalid, "--nodes ", file.path, ": the nodes of type '", file.type,
              "' have names, so the order of the array's rows is unknown; list the names in that ",
              "order in a table: --nodes ", file.type, "=FILE");
      }
      Tensor values = MapFeature(file.path);
      ids.Close(values.num_rows(), file.path);
      AddFeature(nodes.features, file.feature, std::move(values), file.path);
    }
  }

  static Tensor MapFeature(const std::string& path) {
    Tensor values = MapNpy(path);
    if (values.shape().empty()) {
      Throw(ErrorCode::kCorrupt, path, ": a single number, expected an array of a row per object");
    }
    return values;
  }

  void ReadEdges(EdgeTypeId e) {
    RawEdges& edges = graph_.edges[Index(e)];
    EdgesBeingRead reading{
        .src = Ids(graph_.schema.src_type(e)), .dst = Ids(graph_.schema.dst_type(e)), .ends = {}};
    for (const OpenEdgeFile& open : edge_files_[Index(e)]) {
      if (open.kind == EdgeFileKind::kTable) {
        ReadEdgeTable(open.table, selection_, reading, options_.progress);
      } else if (open.kind == EdgeFileKind::kMatrixMarket) {
        ReadMatrixMarket(open.file->path, reading, selection_, options_.progress);
      } else if (open.file->dst_path.empty()) {
        ReadNpyEdges(open.file->path, TwoByTwo::kEndsInRows, reading, options_.progress);
      } else {
        ReadNpyEdges(open.file->path, open.file->dst_path, reading, options_.progress);
      }
    }
    const int64_t count = reading.ends.count();
    std::move(reading.features).Finish(count, edges.features);
    if (!reading.src.named()) reading.src.AtLeast(reading.ends.src_end());
    if (!reading.dst.named()) reading.dst.AtLeast(reading.ends.dst_end());
    std::move(reading.ends).Finish(edges);
    for (const EdgeFile& file : options_.edges) {
      if (file.feature.empty() || !(file.type == graph_.schema.etype(e))) continue;
      Tensor values = MapFeature(file.path);
      if (values.num_rows() != count) {
        Throw(ErrorCode::kInvalid, file.path, ": ", values.num_rows(), " rows, expected one for ",
              "each of the ", count, " edges of type ", file.type.ToString());
      }
      AddFeature(edges.features, file.feature, std::move(values), file.path);
    }
  }

  void FinishNodes(NodeTypeId t) {
    NodeIds& ids = Ids(t);
    if (!ids.closed() && !ids.named()) CheckDense(t);
    graph_.nodes[Index(t)].count = ids.count();
    graph_.nodes[Index(t)].names = ids.names();
  }

  // Numbers with large gaps are no ids but names.
  void CheckDense(NodeTypeId t) {
    const auto count = static_cast<uint64_t>(Ids(t).count());
    uint64_t ends = 0;
    const auto for_each = [&](auto&& f) {
      for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) {
        if (graph_.schema.src_type(e) == t) f(graph_.edges[Index(e)].src);
        if (graph_.schema.dst_type(e) == t) f(graph_.edges[Index(e)].dst);
      }
    };
    for_each([&](const Tensor& ids) { ends += static_cast<uint64_t>(ids.num_rows()); });
    uint64_t different = ends;
    if (count / 4 < ends) {  // the bits cost at most half a byte per end
      std::vector<bool> seen(count);
      different = 0;
      for_each([&](const Tensor& ids) {
        IdSpan(ids).Visit([&](auto values) {
          for (auto id : values) {
            different += !seen[id];
            seen[id] = true;
          }
        });
      });
    }
    if (count <= 16 || count / 4 <= different) return;
    Throw(ErrorCode::kInvalid, "the ids of node type '", Ids(t).ntype(), "' go up to ", count - 1,
          ", but at most ", different,
          " of them occur; give --map_ids to number the nodes anew, or ",
          "--num_nodes if those without edges are meant to be there");
  }

  const GraphFilesOptions& options_;
  FeatureSelection selection_;
  RawGraph graph_;
  std::vector<NodeIds> ids_;                                                     // by NodeTypeId
  std::vector<std::vector<OpenEdgeFile>> edge_files_;                            // by EdgeTypeId
  std::vector<std::optional<std::pair<std::string, TableFormat>>> node_tables_;  // by NodeTypeId
};

}  // namespace

RawGraph ReadGraphFiles(const GraphFilesOptions& options) { return GraphFiles(options).Read(); }

}  // namespace graphd
