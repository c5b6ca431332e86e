// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/tensor_spec.h"
#include "store/rows/apply_rule.h"
#include "store/rows/arena_layout.h"

namespace graphd::store {

// The description of a table: its shape, its first values and the optimiser state of its rows.
struct TableSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> row_shape;
  int64_t rows = 0;  // in this partition
  // The type-wise id of row 0 if the ids of the rows are consecutive. If it is -1,
  // StoreOptions::row_ids returns the id of each row.
  int64_t first_id = 0;
  OptimizerState state = OptimizerState::kNone;
  Initializer initializer;
  std::string attributes = {};  // the caller's text, stored with the table and not interpreted here
  bool operator==(const TableSpec&) const = default;

  size_t row_elements() const noexcept;
  size_t row_bytes() const noexcept { return row_elements() * DTypeSize(dtype); }
  // Returns the bytes of the largest page of rows, with their state.
  size_t page_bytes() const noexcept {
    return static_cast<size_t>(std::clamp<int64_t>(rows, 1, kPageRows)) *
           (row_bytes() + StateFloats(state, row_elements()) * sizeof(float));
  }
  // Throws Error(kInvalid) if sizes are out of range, if rows that are not float32 have optimiser
  // state, or if the initialiser does not suit the dtype.
  void Check() const;
};

// Returns "table 'NAME'" for messages. A name with line breaks was composed by a program; only the
// part after the last line break is shown.
std::string NamedTable(const std::string& name);

std::string EncodeSpec(const TableSpec& spec);
// Throws Error(kCorrupt).
TableSpec DecodeSpec(const std::string& text);

}  // namespace graphd::store
