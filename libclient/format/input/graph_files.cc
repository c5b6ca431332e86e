// SPDX-License-Identifier: Apache-2.0
#include "format/input/graph_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/index.h"
#include "base/strings.h"
#include "format/input/column_tables.h"
#include "format/input/edge_files.h"
#include "format/input/feature_selections.h"
#include "format/input/node_table.h"
#include "format/input/notes.h"
#include "format/io/npy_file.h"

namespace graphd {
namespace {

// A file with edges and its detected format.
struct OpenEdgeFile {
  const EdgeFile* file;
  EdgeFileKind kind;
  EdgeTable table;  // for kTable and kColumns only
};

// A table of nodes and its detected format.
struct OpenNodeTable {
  std::string path;
  TableFormat format;
  bool columns;  // stored by column
};

std::vector<std::string> TypesOf(const Schema& schema) {
  std::vector<std::string> types;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) types.push_back(schema.ntype(t));
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) types.push_back(schema.etype(e).ToString());
  return types;
}

class GraphFiles {
 public:
  explicit GraphFiles(const GraphFilesOptions& options) : options_(options), selections_(options) {}

  RawGraph Read() {
    MakeSchema();
    OpenEdgeFiles();
    OpenNodeTables();
    selections_.CheckAllFound(TypesOf(graph_.schema), Paths());
    ChooseNames();
    for (NodeIds& ids : ids_) ReadNodes(ids);
    for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) ReadEdges(e);
    CheckNotEmpty();
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
    if (etypes.empty()) Throw(ErrorCode::kInvalid, "no edges are given; --edges names their files");
    const size_t joined = ntypes.size();
    for (const NodeFile& file : options_.nodes) add(ntypes, file.type);
    for (const auto& [type, count] : options_.num_nodes) CheckCounted(type, ntypes);
    NoteNodesWithoutEdges(ntypes, joined);
    for (const std::string& name : ntypes) ids_.emplace_back(name);
    graph_.nodes.resize(ntypes.size());
    graph_.edges.resize(etypes.size());
    graph_.schema = Schema(std::move(ntypes), std::move(etypes));
  }

  static void CheckCounted(const std::string& type, const std::vector<std::string>& ntypes) {
    if (std::find(ntypes.begin(), ntypes.end(), type) != ntypes.end()) return;
    Throw(ErrorCode::kInvalid, "--num_nodes: no file has nodes or edges of node type '", type,
          "'; the types are ", Join(ntypes, ", "));
  }

  // Reports a node type that no edge type has as an end: it may be intended or misspelled.
  void NoteNodesWithoutEdges(const std::vector<std::string>& ntypes, size_t joined) const {
    const std::vector<std::string> ends(ntypes.begin(), ntypes.begin() + joined);
    for (size_t t = joined; t < ntypes.size(); t++) {
      Note("--nodes: no edge type has nodes of type '", ntypes[t], "'; those that have edges are ",
           Join(ends, ", "));
    }
  }

  template <class... Args>
  void Note(const Args&... args) const {
    if (options_.note) options_.note(StrCat(args...));
  }

  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const EdgeFile& file : options_.edges) paths.push_back(file.path);
    for (const NodeFile& file : options_.nodes) paths.push_back(file.path);
    return paths;
  }

  void NoteIfAny(const std::string& note) const {
    if (!note.empty()) Note(note);
  }

  // Reports labels and missing values of the features that were read from tables.
  void NoteFeatures(const std::string& of, const std::vector<RawFeature>& features) const {
    if (!options_.note) return;
    for (const RawFeature& feature : features) {
      NoteIfAny(LabelsNote(feature));
      NoteIfAny(MissingNote(of, feature));
    }
  }

  // Adds the names of columns and types in the user's options, which a header may use, to the
  // hints.
  TableHints HintsFor(const std::string& path, std::vector<std::string> names) const {
    TableHints hints = options_.hints;
    hints.names = std::move(names);
    for (const std::string& column : {options_.src_column, options_.dst_column}) {
      if (!column.empty()) hints.names.push_back(column);
    }
    for (std::string& name : selections_.NamesFor(path)) hints.names.push_back(std::move(name));
    return hints;
  }

  void OpenEdgeFiles() {
    edge_files_.resize(graph_.edges.size());
    for (const EdgeFile& file : options_.edges) {
      if (!file.feature.empty()) continue;
      OpenEdgeFile open{&file, EdgeFileKindOf(file.path), {}};
      CheckKind(open);
      if (!file.dst_path.empty() && open.kind != EdgeFileKind::kNpy) {
        Throw(ErrorCode::kInvalid, file.path, ": only .npy files may have sources and ",
              "destinations in separate files, as SRC.npy,DST.npy");
      }
      if (open.kind == EdgeFileKind::kTable) {
        open.table =
            OpenEdgeTable(file.path, file.type, HintsFor(file.path, {file.type.src, file.type.dst}),
                          options_.src_column, options_.dst_column);
      } else if (open.kind == EdgeFileKind::kColumns) {
        open.table = {.path = file.path, .format = DescribeColumns(Columns(file.path), file.path)};
        ChooseEdgeColumns(open.table, file.type, options_.src_column, options_.dst_column);
      }
      if (options_.src_column.empty() && options_.dst_column.empty()) {
        NoteIfAny(EndColumnsNote(open.table, file.type));
      }
      AddFeaturesOf(open);
      edge_files_[Index(graph_.schema.EdgeTypeIdOf(file.type.ToString()))].push_back(
          std::move(open));
    }
    for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) {
      if (!edge_files_[Index(e)].empty()) continue;
      Throw(ErrorCode::kInvalid, "--edges: no file has the edges of type ",
            graph_.schema.etype(e).ToString(), ", only features");
    }
  }

  // Tells `selections_` which columns of a file of edges may become features.
  void AddFeaturesOf(const OpenEdgeFile& open) {
    const std::string& path = open.file->path;
    const std::string type = open.file->type.ToString();
    if (open.kind == EdgeFileKind::kNpy) {
      selections_.AddFileWithoutColumns(path);
    } else if (open.kind == EdgeFileKind::kMatrixMarket) {
      selections_.AddTable(type, path, DescribeMatrixMarket(path), {0, 1});
    } else {
      selections_.AddTable(type, path, open.table.format,
                           {open.table.src_column, open.table.dst_column});
    }
  }

  void OpenNodeTables() {
    node_tables_.resize(graph_.nodes.size());
    for (const NodeFile& file : options_.nodes) {
      if (!file.feature.empty()) continue;
      auto& table = node_tables_[Index(graph_.schema.NodeTypeIdOf(file.type))];
      if (table) {
        Throw(ErrorCode::kInvalid, "--nodes ", file.path, ": node type '", file.type,
              "' has a table already; give arrays for more features: --nodes ", file.type,
              ".feature=FILE.npy");
      }
      const bool columns = EdgeFileKindOf(file.path) == EdgeFileKind::kColumns;
      table = {file.path,
               columns ? DescribeColumns(Columns(file.path), file.path)
                       : DetectTable(file.path, HintsFor(file.path, {file.type})),
               columns};
      if (table->format.columns.empty()) {
        Throw(ErrorCode::kCorrupt, file.path, ":1: the file is empty, expected a row per node");
      }
      selections_.AddTable(file.type, file.path, table->format, {0});
    }
  }

  void CheckKind(const OpenEdgeFile& open) const {
    constexpr std::array kNames{"a table as text", "a .npy file", "a Matrix Market file",
                                "a table by column (Parquet, .npz)"};
    if (!options_.kind || open.kind == *options_.kind) return;
    Throw(ErrorCode::kInvalid, open.file->path, " is ", kNames[static_cast<size_t>(open.kind)],
          ", expected ", kNames[static_cast<size_t>(*options_.kind)], " as --input_format says");
  }

  // Returns the opener of Parquet and similar files.
  ColumnFiles& Columns(const std::string& path) const {
    if (options_.column_files != nullptr) return *options_.column_files;
    Throw(ErrorCode::kInvalid, path,
          " is stored by column (Parquet, .npz), which can't be read here; ",
          "write it as .npy or .csv (pandas: read_parquet(...).to_csv(..., index=False))");
  }

  // Decides for each type whether its ids are names: they are with map_ids, or if the first rows of
  // some file have ids that are not numbers. If some are negative and all are numbers, throws.
  void ChooseNames() {
    for (NodeTypeId t = 0; t < graph_.schema.num_ntypes(); t++) {
      const std::vector<IdsInTable> columns = ColumnsWithIds(t);
      const auto find = [&](std::optional<PlacedCell> IdCells::*cell) {
        return std::find_if(columns.begin(), columns.end(),
                            [&](const IdsInTable& ids) { return (ids.column->*cell).has_value(); });
      };
      const auto text = find(&IdCells::text), negative = find(&IdCells::negative);
      if (options_.map_ids || text != columns.end()) {
        Ids(t).UseNames();
      } else if (negative != columns.end()) {
        const PlacedCell& cell = *negative->column->negative;
        Throw(ErrorCode::kCorrupt, *negative->path, ":", cell.line, ": node ", cell.text,
              " of type '", Ids(t).ntype(), "' is negative; numeric ids begin at 0, and ",
              "--map_ids accepts any text");
      }
      if (!options_.map_ids && text != columns.end()) {
        const PlacedCell& cell = *text->column->text;
        Note("ids of ", Ids(t).ntype(), " are names, because of ", *text->path, ":", cell.line,
             " '", cell.text.substr(0, 40), "'");
        NoteMissingHeaders(columns);
      }
    }
  }

  struct IdsInTable {
    const std::string* path;
    const TableFormat* format;
    const IdCells* column;
    const char* row;  // kind of object that a row stands for, "node" or "edge"
  };

  std::vector<IdsInTable> ColumnsWithIds(NodeTypeId t) const {
    std::vector<IdsInTable> columns;
    const auto add = [&](const std::string& path, const TableFormat& format, size_t column,
                         const char* row) {
      if (format.columns.empty()) return;
      columns.push_back({&path, &format, &format.ids[column], row});
    };
    if (const auto& table = node_tables_[Index(t)]) add(table->path, table->format, 0, "node");
    for (EdgeTypeId e = 0; e < graph_.schema.num_etypes(); e++) {
      for (const OpenEdgeFile& open : edge_files_[Index(e)]) {
        if (open.kind != EdgeFileKind::kTable && open.kind != EdgeFileKind::kColumns) continue;
        const EdgeTable& table = open.table;
        if (graph_.schema.src_type(e) == t) add(table.path, table.format, table.src_column, "edge");
        if (graph_.schema.dst_type(e) == t) add(table.path, table.format, table.dst_column, "edge");
      }
    }
    return columns;
  }

  // Reports the files in which no header was detected. If ids are names, a header looks like one
  // more row, so it may have been overlooked.
  void NoteMissingHeaders(const std::vector<IdsInTable>& columns) {
    if (options_.hints.header) return;
    for (const IdsInTable& ids : columns) {
      if (ids.format->header || !ids.column->text || !noted_.insert(*ids.path).second) continue;
      Note(*ids.path, ": no header found; line ", ids.format->first_line, " is its first ", ids.row,
           " (--header yes if it is a header)");
    }
  }

  void ReadNodes(NodeIds& ids) {
    const NodeTypeId t = graph_.schema.NodeTypeIdOf(ids.ntype());
    RawNodes& nodes = graph_.nodes[Index(t)];
    const auto& table = node_tables_[Index(t)];
    if (table && table->columns) {
      ReadNodeColumns(Columns(table->path), table->path, table->format, ids,
                      selections_.Of(ids.ntype(), table->path), nodes, options_.progress,
                      options_.spill);
    } else if (table) {
      ReadNodeTable(table->path, table->format, ids, selections_.Of(ids.ntype(), table->path),
                    nodes, options_.progress, options_.spill);
    }
    NoteFeatures(ids.ntype(), nodes.features);
    if (!table && ids.named() && options_.num_nodes.contains(ids.ntype())) {
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

  Tensor MapFeature(const std::string& path) const {
    Tensor values = options_.spill ? options_.spill->MapNpyFile(path) : MapNpy(path);
    if (values.shape().empty()) {
      Throw(ErrorCode::kCorrupt, path, ": a single number, expected an array of a row per object");
    }
    return values;
  }

  void ReadEdges(EdgeTypeId e) {
    RawEdges& edges = graph_.edges[Index(e)];
    const std::string type = graph_.schema.etype(e).ToString();
    EdgesBeingRead reading(Ids(graph_.schema.src_type(e)), Ids(graph_.schema.dst_type(e)),
                           options_.spill);
    for (const OpenEdgeFile& open : edge_files_[Index(e)]) {
      const FeatureSelection& selection = selections_.Of(type, open.file->path);
      if (open.kind == EdgeFileKind::kTable) {
        ReadEdgeTable(open.table, selection, reading, options_.progress);
      } else if (open.kind == EdgeFileKind::kColumns) {
        ReadEdgeColumns(Columns(open.file->path), open.table, selection, reading,
                        options_.progress);
      } else if (open.kind == EdgeFileKind::kMatrixMarket) {
        ReadMatrixMarket(open.file->path, reading, selection, options_.progress);
      } else if (open.file->dst_path.empty()) {
        ReadNpyEdges(open.file->path, TwoByTwo::kEndsInRows, reading, options_.progress);
      } else {
        ReadNpyEdges(open.file->path, open.file->dst_path, reading, options_.progress);
      }
    }
    const int64_t count = reading.ends.count();
    std::move(reading.features).Finish(count, edges.features);
    NoteFeatures(type, edges.features);
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

  // Refuses a graph without edges, so that a truncated file does not replace a good graph by an
  // empty one.
  void CheckNotEmpty() const {
    if (!options_.nodes.empty() || !options_.num_nodes.empty()) return;
    const bool edges = std::any_of(graph_.edges.begin(), graph_.edges.end(),
                                   [](const RawEdges& of_type) { return of_type.count() > 0; });
    const bool nodes =
        std::any_of(ids_.begin(), ids_.end(), [](const NodeIds& ids) { return ids.count() > 0; });
    if (edges || nodes) return;
    Throw(ErrorCode::kCorrupt, options_.edges[0].path, " has no edges",
          options_.edges.size() > 1 ? ", nor has any other file" : "",
          "; if the graph has none, give its nodes with --num_nodes or --nodes");
  }

  void FinishNodes(NodeTypeId t) {
    NodeIds& ids = Ids(t);
    if (ids.named() && !options_.map_ids) NoteIfAny(LoneNamesNote(ids.ntype(), *ids.names()));
    if (!ids.closed() && !ids.named()) CheckDense(t);
    graph_.nodes[Index(t)].count = ids.count();
    graph_.nodes[Index(t)].names = ids.names();
  }

  // Throws if the ids are numbers with large gaps, because these are names rather than ids.
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
    if (count / 4 < ends) {  // `seen` takes at most half a byte for each end of an edge
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
          ", but at most ", different, " of them occur; give --map_ids to renumber the nodes, or ",
          "--num_nodes if those without edges are meant to be there");
  }

  const GraphFilesOptions& options_;
  FeatureSelections selections_;
  RawGraph graph_;
  std::vector<NodeIds> ids_;                               // by NodeTypeId
  std::vector<std::vector<OpenEdgeFile>> edge_files_;      // by EdgeTypeId
  std::vector<std::optional<OpenNodeTable>> node_tables_;  // by NodeTypeId
  std::set<std::string> noted_;
};

}  // namespace

RawGraph ReadGraphFiles(const GraphFilesOptions& options) { return GraphFiles(options).Read(); }

}  // namespace graphd
