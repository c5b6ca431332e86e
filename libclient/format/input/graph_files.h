// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/input/edge_files.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/io/table_format.h"

// A graph from single files: edges of each type as tables, NumPy arrays or Matrix Market files
// (edge_files.h), features of nodes and edges as tables or NumPy arrays. Streamed: beside the graph
// itself there is a buffer per open file, and the names if nodes have names. Arrays of features are
// mapped, not read.
//
// Nodes of a type are numbered by what its files say. Ids that are whole numbers are used as they
// are; any others are names and count in order of first appearance. What there is of a type's nodes
// follows from, in this order: its node table, --num_nodes, the rows of its feature arrays, the
// largest id in the edges.

namespace graphd {

// One --edges option.
struct EdgeFile {
  CanonicalEdgeType type;
  std::string feature;  // the file is a feature of the edges; "": it has the edges
  std::string path;
  std::string dst_path;  // destinations, if `path` has the sources only; or ""
};

// One --nodes option.
struct NodeFile {
  std::string type;
  std::string feature;  // the file is this feature, an array; "": a table of the nodes
  std::string path;
};

// "[src:rel:dst[.feature]=]FILE", "[src:rel:dst=]SRC.npy,DST.npy". The type is _N:_E:_N if it is
// left out. Throws Error(kInvalid) quoting the option.
EdgeFile ParseEdgeFile(const std::string& option);
// "[type[.feature]=]FILE"; the type is _N if it is left out.
NodeFile ParseNodeFile(const std::string& option);
// "[type=]NUMBER".
std::pair<std::string, int64_t> ParseNodeCount(const std::string& option);

struct GraphFilesOptions {
  std::optional<EdgeFileKind> kind;  // no other is taken for edges
  std::vector<EdgeFile> edges;       // several files of one type follow one another
  std::vector<NodeFile> nodes;
  std::map<std::string, int64_t> num_nodes;
  TableHints hints;
  std::string src_column, dst_column;  // name or position; "": first and second
  std::optional<std::vector<std::string>> feature_columns;  // none given: all
  bool map_ids = false;                                     // ids of nodes are names, even numbers
  StepProgress progress;
  // Told what the files were taken for where they might mean something else; may be empty.
  std::function<void(const std::string& text)> note;
};

// Types are numbered in the order in which `edges`, then `nodes` name them. Throws Error(kInvalid)
// for options that contradict each other or the files, also if ids are numbers of which fewer than
// a quarter occur, and for a number of nodes of a type that no file has; Error(kCorrupt) with file
// and line or offset for bad contents, and if there is neither an edge nor a word about the nodes.
RawGraph ReadGraphFiles(const GraphFilesOptions& options);

}  // namespace graphd
