// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/io/cell_splitter.h"
#include "format/io/line_reader.h"
#include "format/io/table_format.h"

namespace graphd {

// Reads the rows of a text table, without its header. Not thread-safe.
class TableReader {
 public:
  TableReader(const std::string& path, const TableFormat& format);
  // Moves to the next row, skipping blank lines. Returns false at the end. Throws Error(kCorrupt)
  // if the row's number of cells differs from the format's number of columns, or if a quote is not
  // closed within 64 MiB.
  bool Next();
  std::span<const std::string_view> cells() const noexcept { return splitter_.cells(); }

  const std::string& path() const noexcept { return lines_.path(); }
  uint64_t bytes_read() const noexcept { return lines_.bytes_read(); }
  uint64_t file_bytes() const noexcept { return lines_.file_bytes(); }
  // Throws Error(kCorrupt) naming the line on which the row begins.
  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    Throw(ErrorCode::kCorrupt, lines_.path(), ":", row_line_, ": ", args...);
  }

  // Returns the file and the line on which the row begins, such as "users.csv:2".
  std::string Place() const { return StrCat(lines_.path(), ":", row_line_); }

 private:
  bool NextRecord();
  LineReader lines_;
  size_t columns_;
  CellSplitter splitter_;
  bool in_comments_ = true;
  int64_t row_line_ = 1;
};

}  // namespace graphd
