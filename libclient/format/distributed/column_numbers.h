// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/arrow/column.h"
#include "format/distributed/graph_plan.h"
#include "format/io/number_summary.h"
#include "format/native/encoder.h"

// Functions for the numbers of a feature that is a column of an Arrow table, of which each process
// has some rows. Each process summarises its rows, and the merged summaries determine the dtype and
// the encoding of the feature. They are the same as graphctl partition chooses for the same column
// of a Parquet file.

namespace graphd {

// The properties of a column's numbers that determine how the feature is stored. A plain value.
struct ColumnSummary {
  bool is_float32 = false;  // the column has numbers of float32, or lists of these
  bool is_list = false;
  NumberSummary numbers;
  int64_t least = INT64_MAX, most = INT64_MIN;  // the range of whole numbers
  FloatRange range;                             // the range as float32
  int64_t list_size = 0;                        // numbers in each list; 0: there is no list

  void Merge(const ColumnSummary& part, const std::string& column);
  // Returns how a feature of that name is stored. `store_as` is the name of a dtype
  // (StorageOptions), or "" to store integers in the narrowest dtype.
  PlannedFeature Plan(const std::string& name, const std::string& store_as) const;
};

// Returns the summary of a column that has this type and no rows. Throws Error(kInvalid), with the
// remedy, if it has no numbers; `column_name` is for messages.
ColumnSummary SummaryOf(const ArrowType& type, const std::string& column_name);

// Adds the rows of a column to `summary`, which SummaryOf has returned for its type, or which
// already has other rows. Throws Error(kInvalid) for lists of different lengths.
void Summarize(const ArrowColumn& column, const std::string& column_name, ColumnSummary& summary);

// Appends the rows begin .. end - 1 of a column to `to`, as numbers of feature.encoding.dtype;
// nulls become NaN. Throws Error(kInvalid) if the rows have a null, a number or a list that the
// plan does not allow.
void AppendNumbers(const ArrowColumn& column, int64_t begin, int64_t end,
                   const PlannedFeature& feature, std::vector<std::byte>& to);

}  // namespace graphd
