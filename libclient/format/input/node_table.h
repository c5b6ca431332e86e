// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/feature_columns.h"
#include "format/input/node_ids.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/io/table_format.h"

namespace graphd {

// Reads a table with a row for every node of a type: the id in the first column, features
// (feature_columns.h) in the others. Closes `ids`. Names are numbered in the order of the rows;
// numbers must be 0..rows-1, in any order. Throws Error(kCorrupt) with the line.
void ReadNodeTable(const std::string& path, const TableFormat& format, NodeIds& ids,
                   FeatureSelection& selection, RawNodes& nodes, const StepProgress& progress);

}  // namespace graphd
