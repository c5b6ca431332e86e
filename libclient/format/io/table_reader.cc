// SPDX-License-Identifier: Apache-2.0
#include "format/io/table_reader.h"

namespace graphd {

TableReader::TableReader(const std::string& path, const TableFormat& format)
    : lines_(path), columns_(format.columns.size()), splitter_(format.separator) {
  if (format.header) NextRecord();
}

bool TableReader::NextRecord() {
  std::string_view text;
  do {
    if (!lines_.Next()) return false;
    text = TrimBlanks(lines_.text());
    if (in_comments_ && text.starts_with('#')) text = {};
    if (in_comments_ && text.starts_with('%')) text = {};
  } while (text.empty());
  in_comments_ = false;
  row_line_ = lines_.line();
  try {
    bool whole = splitter_.Begin(lines_.text());
    while (!whole) {
      if (splitter_.pending_bytes() > LineReader::kMaxLineBytes || !lines_.Next()) {
        Throw(ErrorCode::kInvalid, "a quoted cell begins here and is not closed");
      }
      whole = splitter_.Continue(lines_.text());
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalid) Fail(error.what());
    throw;
  }
  return true;
}

bool TableReader::Next() {
  if (!NextRecord()) {
    row_line_ = lines_.line();
    return false;
  }
  if (cells().size() != columns_) {
    Fail(cells().size(), " cells, expected ", columns_, " as in the rows before");
  }
  return true;
}

}  // namespace graphd
