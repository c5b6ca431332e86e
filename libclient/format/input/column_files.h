// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/arrow/column.h"

namespace graphd {

// The interface that opens tables that are stored by column, such as Parquet and .npz files. `path`
// is a file, a pattern with *, ? or [...], or a directory; all its files together are one table. A
// stream must be read to its end, or destroyed, before the next call.
class ColumnFiles {
 public:
  virtual ~ColumnFiles() = default;
  // Returns the first rows, at most `rows`, with all columns.
  virtual std::unique_ptr<ArrowStream> Sample(const std::string& path, int64_t rows) = 0;
  // Returns all rows with these columns.
  virtual std::unique_ptr<ArrowStream> Read(const std::string& path,
                                            const std::vector<std::string>& columns) = 0;
};

// Returns whether a path may name several files, so that only ColumnFiles can open it: a directory,
// or a pattern.
bool NamesSeveralFiles(const std::string& path);

}  // namespace graphd
