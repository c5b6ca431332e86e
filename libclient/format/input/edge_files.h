// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "format/input/edge_builder.h"
#include "format/input/feature_columns.h"
#include "format/input/node_ids.h"
#include "format/io/step_progress.h"
#include "format/io/table_format.h"

// Files that hold the edges of one type: a table as text, a NumPy array, or a Matrix Market file.

namespace graphd {

enum class EdgeFileKind { kTable, kNpy, kMatrixMarket };

// Told by the first bytes. Throws Error(kInvalid) for archives and Parquet, saying what to do.
EdgeFileKind EdgeFileKindOf(const std::string& path);

// The edges of one type while its files are read, one after the other. Edge ids count in that
// order.
struct EdgesBeingRead {
  NodeIds& src;
  NodeIds& dst;
  EdgeBuilder ends;
  FeatureColumns features{"weight"};
};

struct EdgeTable {
  std::string path;
  TableFormat format;
  size_t src_column = 0, dst_column = 1;
};

// Detects the table's form and finds its columns; "" stands for the first and the second that the
// other option does not name, or, if both are "" and the header has the names of both node types of
// `type`, for those. Throws Error(kCorrupt), or Error(kInvalid) for an unknown column.
EdgeTable OpenEdgeTable(const std::string& path, const CanonicalEdgeType& type,
                        const TableHints& hints, const std::string& src_column,
                        const std::string& dst_column);

// One edge a row; further columns become features (feature_columns.h).
void ReadEdgeTable(const EdgeTable& table, FeatureSelection& selection, EdgesBeingRead& edges,
                   const StepProgress& progress);

// What an array 2 by 2 is read as: its shape does not tell.
enum class TwoByTwo { kEndsInRows, kEdgesInRows };

// int32, int64, uint32 or uint64 in an array [2, E] or [E, 2], in C or Fortran order; or sources
// and destinations in two arrays [E]. Throws Error(kCorrupt) with file and offset.
void ReadNpyEdges(const std::string& path, TwoByTwo two_by_two, EdgesBeingRead& edges,
                  const StepProgress& progress);
void ReadNpyEdges(const std::string& src_path, const std::string& dst_path, EdgesBeingRead& edges,
                  const StepProgress& progress);

// Entry (i, j) is an edge from i - 1 to j - 1; its value becomes the feature "weight" unless the
// field is "pattern" (int64 if it is "integer"). The mirrored edge of a symmetric or skew-symmetric
// matrix comes right behind the entry. Rows and columns are the numbers of nodes, so both ends must
// have the same if they are of one type. Throws Error(kCorrupt) with the line.
void ReadMatrixMarket(const std::string& path, EdgesBeingRead& edges, FeatureSelection& selection,
                      const StepProgress& progress);

}  // namespace graphd
