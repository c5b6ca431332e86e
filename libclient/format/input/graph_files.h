// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/input/column_files.h"
#include "format/input/edge_files.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/io/table_format.h"

// Reads a graph from single files: the edges of each type as tables (text or Parquet), NumPy arrays
// or Matrix Market files (edge_files.h), the features of nodes and edges as tables or NumPy arrays.
// Files are streamed: besides the graph, memory holds a buffer per open file, and the names if
// nodes have names. Arrays of features are mapped, not read.
//
// Ids that are whole numbers are used as they are. Any other ids are names of nodes, which are
// numbered in the order of their first appearance. How many nodes a type has follows from the first
// of these that exists: its node table, --num_nodes, the rows of its feature arrays, the largest id
// in the edges.

namespace graphd {

// One --edges option.
struct EdgeFile {
  CanonicalEdgeType type;
  std::string feature;  // the file is this feature of the edges; "": it has the edges
  std::string path;
  std::string dst_path;  // destinations, if `path` has only the sources; else ""
};

// One --nodes option.
struct NodeFile {
  std::string type;
  std::string feature;  // the file is an array of this feature; "": a table of the nodes
  std::string path;
};

// Parses "[src:rel:dst[.feature]=]FILE" or "[src:rel:dst=]SRC.npy,DST.npy". The type is _N:_E:_N by
// default. Throws Error(kInvalid) quoting the option, like the functions below.
EdgeFile ParseEdgeFile(const std::string& option);
// Parses "[type[.feature]=]FILE"; the type is _N by default.
NodeFile ParseNodeFile(const std::string& option);
// Parses "[type=]NUMBER".
std::pair<std::string, int64_t> ParseNodeCount(const std::string& option);

struct GraphFilesOptions {
  std::optional<EdgeFileKind> kind;  // if set, files of edges of another kind are refused
  std::vector<EdgeFile> edges;       // several files of one type are concatenated
  std::vector<NodeFile> nodes;
  std::map<std::string, int64_t> num_nodes;
  TableHints hints;
  std::string src_column, dst_column;  // name or position; "": first and second
  std::optional<std::vector<std::string>> feature_columns;  // unset: all
  // The columns of the tables of a type, "user" or "src:rel:dst", in place of feature_columns.
  std::map<std::string, std::vector<std::string>> feature_columns_of;
  // The columns of single tables, by path, in place of feature_columns.
  std::map<std::string, std::vector<std::string>> feature_columns_in;
  ColumnFiles* column_files = nullptr;  // opens Parquet files; null: they are refused
  bool map_ids = false;                 // treat all node ids as names, also numbers
  StepProgress progress;
  // If set, edges and the features of tables are kept in files there, and memory holds only the
  // names of nodes.
  SpillFiles* spill = nullptr;
  // Reports how ambiguous files were interpreted; may be empty.
  std::function<void(const std::string& text)> note;
};

// Adds --feat_cols options, "[type=|file=]NAME,NAME..." or "[type=|file=]none", to the columns of
// `options`, whose edges and nodes must have been set: if these have no such type or file, "type="
// or "file=" is a part of a column's name. A file is given by its path, or by its name if no other
// file has the same name. Throws Error(kInvalid), also for the name of several files, for a file
// that is an array of a feature, for a column that is listed twice, and for lists of a type and of
// its files.
void ParseFeatureColumns(const std::vector<std::string>& texts, GraphFilesOptions& options);

// Reads the graph. Types are numbered in the order in which `edges`, then `nodes` name them. Throws
// Error(kInvalid) for options that contradict each other or the files, for numeric ids if fewer
// than a quarter of the numbers up to the largest id occur, and for --num_nodes with a type that no
// file has. Throws Error(kCorrupt) with file and line or offset for bad contents, and if the input
// has no edges and does not tell the number of nodes.
RawGraph ReadGraphFiles(const GraphFilesOptions& options);

}  // namespace graphd
