// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/io/line_reader.h"

// Tables as text, of any of the usual forms: cells separated by commas, tabs, semicolons or blanks;
// with or without a header line; cells quoted as RFC 4180 has it ("a ""b"", c", line breaks
// included). Lines that begin with '#' or '%' before the first row are comments.

namespace graphd {

// Cuts records into cells. A record is one line, or several if a quoted cell spans them.
class CellSplitter {
 public:
  // ' ' stands for any run of blanks and tabs. Cells between other separators lose the blanks at
  // their ends unless they are quoted.
  explicit CellSplitter(char separator) : separator_(separator) {}

  // Begins a record. False if a quoted cell goes on in the next line: give it to Continue(). Throws
  // Error(kInvalid) on text behind a closing quote.
  bool Begin(std::string_view line);
  bool Continue(std::string_view line);
  // Of the whole record; valid while the line is (for records without quotes) and until the next
  // Begin().
  std::span<const std::string_view> cells() const noexcept { return cells_; }
  // Bytes kept of a record that is not whole yet.
  size_t pending_bytes() const noexcept { return text_.size(); }

 private:
  enum class State { kStart, kPlain, kQuoted, kClosed };
  void SplitPlain(std::string_view line);
  void EndCell();
  char separator_;
  std::vector<std::string_view> cells_;
  // Records with quotes only: unescaped text of the cells, where each ends, and which were quoted.
  std::string text_;
  std::vector<std::pair<size_t, bool>> ends_;
  State state_ = State::kStart;
  bool quoted_ = false;
};

// What a user says about a table; what is left out is told from its first rows.
struct TableHints {
  std::optional<char> separator;  // ',', '\t', ';' or ' '
  std::optional<bool> header;
  // Of columns and types: a first row that has one of them is a header.
  std::vector<std::string> names = {};
};

// Where in a table a cell stands, and what it holds.
struct PlacedCell {
  int64_t line;
  std::string text;
};

// What a column of the first rows says about ids: whole numbers that are not negative have neither.
struct IdCells {
  std::optional<PlacedCell> text;      // the first that is no whole number
  std::optional<PlacedCell> negative;  // the first whole number below 0
};

struct TableFormat {
  char separator = ',';
  bool header = false;
  std::vector<std::string> columns;  // names; "0", "1" ... without a header
  int64_t first_line = 1;            // of the first row, a header or not
  std::vector<IdCells> ids;          // by column

  // The column of that name or, if there is none, of that position (from 0). Throws
  // Error(kInvalid) listing the columns.
  size_t Find(const std::string& path, const std::string& column) const;
};

// Reads up to 100 rows. A first row with a cell that is no number above a column of numbers is a
// header, and so is one that has a usual name of an end or id ("src", "target", "id", ...) or one
// of the hints' names, and no number. A file without any row has no columns. Throws Error(kCorrupt)
// if no separator gives all rows the same number of cells.
TableFormat DetectTable(const std::string& path, const TableHints& hints = {});

// The rows behind the header.
class TableReader {
 public:
  TableReader(const std::string& path, const TableFormat& format);
  // Blank lines are skipped. Throws Error(kCorrupt) for a row with another number of cells than the
  // format has columns, and for a quote that is not closed within 64 MiB.
  bool Next();
  std::span<const std::string_view> cells() const noexcept { return splitter_.cells(); }

  const std::string& path() const noexcept { return lines_.path(); }
  uint64_t bytes_read() const noexcept { return lines_.bytes_read(); }
  uint64_t file_bytes() const noexcept { return lines_.file_bytes(); }
  // Names the line on which the row begins.
  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    Throw(ErrorCode::kCorrupt, lines_.path(), ":", row_line_, ": ", args...);
  }

 private:
  bool NextRecord();
  LineReader lines_;
  size_t columns_;
  CellSplitter splitter_;
  bool in_comments_ = true;
  int64_t row_line_ = 1;
};

}  // namespace graphd
