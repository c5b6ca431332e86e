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

// Files that hold the edges of one type: a table as text, a table stored by column (Parquet), a
// NumPy array, or a Matrix Market file.

namespace graphd {

enum class EdgeFileKind { kTable, kNpy, kMatrixMarket, kColumns };

// Returns the kind of a file by its first bytes. Returns kColumns for Parquet and Arrow files, .npz
// archives, directories and patterns.
EdgeFileKind EdgeFileKindOf(const std::string& path);

// The edges of one type while its files are read one after the other. Edges get ids in the order in
// which they are read.
struct EdgesBeingRead {
  // With `spill`, edges and features are kept in files there.
  EdgesBeingRead(NodeIds& src_ids, NodeIds& dst_ids, SpillFiles* spill = nullptr)
      : src(src_ids), dst(dst_ids), ends(spill), features("weight", spill) {}

  NodeIds& src;
  NodeIds& dst;
  EdgeBuilder ends;
  FeatureColumns features;
};

struct EdgeTable {
  std::string path;
  TableFormat format;
  size_t src_column = 0, dst_column = 1;
};

// Detects the table's format and finds its columns, see ChooseEdgeColumns.
EdgeTable OpenEdgeTable(const std::string& path, const CanonicalEdgeType& type,
                        const TableHints& hints, const std::string& src_column,
                        const std::string& dst_column);

// Finds the columns of sources and destinations, and sets them in `table`. If both names are "" and
// the header contains the names of both node types of `type`, these columns are used. Otherwise, if
// both names are "", the first column has sources and the second destinations; if one name is "",
// it stands for the first column that the other name does not stand for. Throws Error(kCorrupt), or
// Error(kInvalid) for an unknown column.
void ChooseEdgeColumns(EdgeTable& table, const CanonicalEdgeType& type,
                       const std::string& src_column, const std::string& dst_column);

// Reads one edge per row; further columns become features (feature_columns.h).
void ReadEdgeTable(const EdgeTable& table, const FeatureSelection& selection, EdgesBeingRead& edges,
                   const StepProgress& progress);

// The interpretation of an array of shape [2, 2], which is ambiguous.
enum class TwoByTwo { kEndsInRows, kEdgesInRows };

// Read ids of int32, int64, uint32 or uint64 from an array [2, E] or [E, 2], in C or Fortran order,
// or from two arrays [E] of sources and destinations. Throw Error(kCorrupt) with file and offset.
void ReadNpyEdges(const std::string& path, TwoByTwo two_by_two, EdgesBeingRead& edges,
                  const StepProgress& progress);
void ReadNpyEdges(const std::string& src_path, const std::string& dst_path, EdgesBeingRead& edges,
                  const StepProgress& progress);

// Returns the columns "row", "column" and, unless the field is "pattern", "weight" of a sparse
// matrix.
TableFormat DescribeMatrixMarket(const std::string& path);

// Reads a sparse matrix: entry (i, j) is an edge from i - 1 to j - 1. Its value becomes the feature
// "weight" (int64 if the field is "integer"), unless the field is "pattern". The mirrored edge of a
// symmetric or skew-symmetric matrix follows the entry. Rows and columns are the numbers of nodes,
// so they must be equal if both ends are of one type. Throws Error(kCorrupt) with the line.
void ReadMatrixMarket(const std::string& path, EdgesBeingRead& edges,
                      const FeatureSelection& selection, const StepProgress& progress);

}  // namespace graphd
