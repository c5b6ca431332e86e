// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The format of a text table: its cells are separated by commas, tabs, semicolons or blanks, it has
// a header line or none, and cells may be quoted as in RFC 4180 ("a ""b"", c", line breaks
// included). Lines that begin with '#' or '%' before the first row are comments.

namespace graphd {

// The user's settings for a table; unset ones are detected from its first rows.
struct TableHints {
  std::optional<char> separator;  // ',', '\t', ';' or ' '
  std::optional<bool> header;
  // Names of columns and types: a first row that has one of them is a header.
  std::vector<std::string> names = {};
};

// A cell of a table and the line that it is in.
struct PlacedCell {
  int64_t line;
  std::string text;
};

// Facts from the first rows that tell whether a column holds ids. `text` and `negative` are both
// empty if the column holds non-negative integers only.
struct IdCells {
  uint64_t cells = 0;                  // cells that were looked at
  uint64_t first = 0;                  // the first cell, if it is an integer
  bool are_steps = true;               // integers begin at 0 or 1 and grow by 1 from cell to cell
  std::optional<PlacedCell> text;      // the first cell that is not an integer
  std::optional<PlacedCell> negative;  // the first negative integer

  // Takes the next cell of the column into account.
  void Add(int64_t line, std::string_view cell);
};

// The number of rows from which a format is detected. One of them may be the header.
constexpr size_t kSampleRows = 100;

struct TableFormat {
  char separator = ',';
  bool header = false;
  std::vector<std::string> columns;  // names; "0", "1" ... without a header
  int64_t first_line = 1;            // line number of the first row, which may be the header
  std::vector<IdCells> ids;          // by column
  // For tables with typed columns: the numbers per row of each column that holds lists, and 0 for
  // others. Empty for text tables.
  std::vector<int64_t> list_sizes = {};

  // Returns the column of that name or, if no column has it, of that position (from 0). Throws
  // Error(kInvalid) listing the columns. `path` names the file in messages.
  size_t Find(const std::string& path, const std::string& column) const;
};

// Detects the format from up to 100 rows. A first row without numbers is a header if it contains a
// usual name of an end or id ("src", "target", "id", ...) or one of the hints' names, or if one of
// its cells stands above a column of numbers. A file without rows has no columns. Throws
// Error(kCorrupt) if no separator gives all rows the same number of cells, or if the header leaves
// out or repeats a name.
TableFormat DetectTable(const std::string& path, const TableHints& hints = {});

}  // namespace graphd
