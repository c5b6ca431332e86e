// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/arrow/column.h"

namespace graphd {

// Opens tables that are stored by column, as Parquet and .npz files are: `path` is a file, a
// pattern with
// *, ? or [...], or a directory, whose files together are one table. A stream must be read to its
// end, or destroyed, before the next call.
class ColumnFiles {
 public:
  virtual ~ColumnFiles() = default;
  // Returns the first rows, at most `rows`, with all columns.
  virtual std::unique_ptr<ArrowStream> Sample(const std::string& path, int64_t rows) = 0;
  // Returns all rows with these columns.
  virtual std::unique_ptr<ArrowStream> Read(const std::string& path,
                                            const std::vector<std::string>& columns) = 0;
};

// Returns whether a path can only be one for ColumnFiles: a directory, or a pattern.
bool NamesSeveralFiles(const std::string& path);

}  // namespace graphd
