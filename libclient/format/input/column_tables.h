// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/column_files.h"
#include "format/input/edge_files.h"
#include "format/input/node_ids.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/io/table_format.h"

// Tables of edges and nodes that are stored by column (Parquet). Their columns have the same
// meaning as the columns of a text table with a header, and the same values give the same graph:
// integers and texts are ids, and features get the dtypes that they would get from text.

namespace graphd {

// Returns the columns, and which of the first rows' values are not ids, as DetectTable does for
// text. PlacedCell::line is the number of a cell's row, from 1. Throws Error(kCorrupt) for columns
// without a name, or with the same name.
TableFormat DescribeColumns(ColumnFiles& files, const std::string& path);

// Do the same as ReadEdgeTable and ReadNodeTable. Throw Error(kCorrupt) with the row, from 0, for
// an id that is null or out of range, and Error(kInvalid) for columns of unfit types.
void ReadEdgeColumns(ColumnFiles& files, const EdgeTable& table, const FeatureSelection& selection,
                     EdgesBeingRead& edges, const StepProgress& progress);
void ReadNodeColumns(ColumnFiles& files, const std::string& path, const TableFormat& format,
                     NodeIds& ids, const FeatureSelection& selection, RawNodes& nodes,
                     const StepProgress& progress, SpillFiles* spill = nullptr);

}  // namespace graphd
