// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/feature_columns.h"
#include "format/input/node_ids.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/io/table_format.h"
#include "format/io/tensor_builder.h"

namespace graphd {

// The rows of a table of nodes while it is read.
class NodeRows {
 public:
  // With `spill`, features are kept in files there.
  NodeRows(NodeIds& ids, SpillFiles* spill) : ids_(ids), spill_(spill) {}
  int64_t count() const noexcept { return static_cast<int64_t>(order_.num_elements()); }
  // Adds a row with this id. Returns false if the node's name has occurred in an earlier row.
  bool Add(uint64_t id) {
    const uint64_t row = order_.num_elements();
    if (ids_.named() && id != row) return false;
    in_order_ = in_order_ && id == row;
    order_.Append(id);
    return true;
  }
  // Closes the ids, and adds the columns' features to those of the nodes, in the order of the ids.
  // Throws Error(kCorrupt) if numbers are not 0..rows-1. `path` names the table.
  void Finish(FeatureColumns columns, const std::string& path, RawNodes& nodes) &&;

 private:
  NodeIds& ids_;
  SpillFiles* spill_;
  TensorBuilder order_{DType::kUInt64};
  bool in_order_ = true;
};

// Reads a table with a row for every node of a type: the id in the first column, features
// (feature_columns.h) in the others. Closes `ids`. Names are numbered in the order of the rows;
// numbers must be 0..rows-1, in any order. With `spill`, features are kept in files there. Throws
// Error(kCorrupt) with the line.
void ReadNodeTable(const std::string& path, const TableFormat& format, NodeIds& ids,
                   const FeatureSelection& selection, RawNodes& nodes, const StepProgress& progress,
                   SpillFiles* spill = nullptr);

}  // namespace graphd
