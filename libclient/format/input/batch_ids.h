// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/arrow/column.h"
#include "format/input/node_ids.h"

namespace graphd {

// The ids of nodes in a column of one batch: whole numbers, text, or dictionaries of either. The
// column must outlive this object. Not thread-safe.
class BatchIds {
 public:
  // Throws Error(kInvalid) for a column of another type. `first_row` is the row of the table at
  // which the batch begins.
  BatchIds(const ArrowColumn& column, const std::string& name, const std::string& path,
           int64_t first_row, NodeIds& ids);

  // Returns the id in a row of the batch. It is the same as NodeIds::Resolve returns for the row's
  // text.
  uint64_t At(int64_t row);
  // Returns a row's id as text if it is a number, a text or such a value of a dictionary; returns
  // "" for null and for other types.
  static std::string TextOf(const ArrowColumn& column, int64_t row);

 private:
  // Names the place of a row in errors.
  struct Place {
    const BatchIds& column;
    int64_t row;
    template <class... Args>
    [[noreturn]] void Fail(const Args&... args) const {
      Throw(ErrorCode::kCorrupt, column.path_, ": row ", column.first_row_ + row,
            " (from 0) of column '", column.name_, "': ", args...);
    }
  };
  static constexpr uint64_t kUnknown = UINT64_MAX;

  uint64_t Resolve(const ArrowColumn& column, int64_t value_row, const Place& place);

  const ArrowColumn& column_;
  const std::string &name_, &path_;
  const int64_t first_row_;
  NodeIds& ids_;
  std::vector<uint64_t> of_dictionary_;  // ids of the dictionary's values that occurred
};

}  // namespace graphd
