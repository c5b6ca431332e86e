// SPDX-License-Identifier: Apache-2.0
#include "format/io/table_format.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings.h"
#include "format/io/cell_splitter.h"
#include "format/io/line_reader.h"
#include "format/io/number_column.h"

namespace graphd {
namespace {

constexpr std::array kSeparators{',', '\t', ';', ' '};

struct Row {
  int64_t line;  // line on which the row begins
  std::vector<std::string> cells;
};

struct Sample {
  std::vector<std::string> lines;
  std::vector<int64_t> numbers;  // line numbers in the file
};

Sample ReadSample(LineReader& lines) {
  Sample sample;
  while (sample.lines.size() < kSampleRows && lines.Next()) {
    const std::string_view text = TrimBlanks(lines.text());
    if (text.empty()) continue;
    if (sample.lines.empty() && (text[0] == '#' || text[0] == '%')) continue;
    sample.lines.emplace_back(lines.text());
    sample.numbers.push_back(lines.line());
  }
  return sample;
}

// Splits the lines into rows. A row that is incomplete at the end of the sample is left out.
std::vector<Row> Cut(const Sample& sample, char separator) {
  std::vector<Row> rows;
  CellSplitter splitter(separator);
  bool whole = true;
  int64_t begin = 0;
  for (size_t i = 0; i < sample.lines.size(); i++) {
    if (whole) begin = sample.numbers[i];
    whole = whole ? splitter.Begin(sample.lines[i]) : splitter.Continue(sample.lines[i]);
    if (whole) rows.push_back({begin, {splitter.cells().begin(), splitter.cells().end()}});
  }
  return rows;
}

bool SameWidth(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const Row& row) { return row.cells.size() == rows[0].cells.size(); });
}

// Returns the rows by the first separator that gives all of them the same number of cells, which
// must be two or more; failing that, by one that gives a single column.
std::vector<Row> CutByBestSeparator(const std::string& path, const Sample& sample,
                                    char& separator) {
  for (char candidate : kSeparators) {
    try {
      std::vector<Row> rows = Cut(sample, candidate);
      if (!rows.empty() && rows[0].cells.size() > 1 && SameWidth(rows)) {
        separator = candidate;
        return rows;
      }
    } catch (const Error&) {
      // The quotes don't fit this separator; try the next.
    }
  }
  std::vector<Row> rows;
  try {
    rows = Cut(sample, separator = ',');
  } catch (const Error& error) {
    Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[0], ": ", error.what());
  }
  if (SameWidth(rows)) return rows;
  const auto odd = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.cells.size() != rows[0].cells.size();
  });
  Throw(ErrorCode::kCorrupt, path, ":", odd->line, ": ", odd->cells.size(),
        " cells between commas, but ", rows[0].cells.size(), " in line ", rows[0].line,
        "; tabs, semicolons and blanks make no equal rows either: correct the ",
        "file, or give --separator");
}

template <class T>
bool ParseWhole(std::string_view cell, T& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size();
}

template <class T>
bool IsWhole(std::string_view cell) {
  T value = 0;
  return ParseWhole(cell, value);
}

bool IsUsualName(std::string_view cell) {
  std::string lower(cell);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::array<std::string_view, 20> kNames{
      "src",      "dst",   "source", "target", "destination", "from",   "to",
      "head",     "tail",  "id",     "node",   "node_id",     "nodeid", "fromnodeid",
      "tonodeid", "start", "end",    "src_id", "dst_id",      "name"};
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

bool LooksLikeHeader(const std::vector<Row>& rows, const std::vector<std::string>& names) {
  const std::vector<std::string>& first = rows[0].cells;
  if (std::any_of(first.begin(), first.end(), IsNumberCell)) return false;
  if (std::any_of(first.begin(), first.end(), IsUsualName)) return true;
  if (std::find_first_of(first.begin(), first.end(), names.begin(), names.end()) != first.end()) {
    return true;
  }
  for (size_t c = 0; c < first.size(); c++) {
    const bool numbers = std::all_of(rows.begin() + 1, rows.end(), [&](const Row& row) {
      return c >= row.cells.size() || IsNumberCell(row.cells[c]);
    });
    if (numbers && rows.size() > 1) return true;
  }
  return false;
}

std::vector<IdCells> IdColumns(const std::vector<Row>& rows, size_t first) {
  std::vector<IdCells> columns(rows[0].cells.size());
  for (size_t r = first; r < rows.size(); r++) {
    for (size_t c = 0; c < columns.size() && c < rows[r].cells.size(); c++) {
      columns[c].Add(rows[r].line, rows[r].cells[c]);
    }
  }
  return columns;
}

void NameColumns(const std::string& path, const Row& row, TableFormat& format) {
  const std::vector<std::string>& first = row.cells;
  for (size_t c = 0; c < first.size(); c++) {
    std::string name = format.header ? first[c] : std::to_string(c);
    if (name.empty()) {
      Throw(ErrorCode::kCorrupt, path, ":", row.line, ": column ", c,
            " has no name in the header; name it, or give --header no");
    }
    if (std::find(format.columns.begin(), format.columns.end(), name) != format.columns.end()) {
      Throw(ErrorCode::kCorrupt, path, ":", row.line, ": the header has two columns '", name,
            "'; rename one, or give --header no");
    }
    format.columns.push_back(std::move(name));
  }
}

}  // namespace

void IdCells::Add(int64_t line, std::string_view cell) {
  uint64_t value = 0;
  const bool is_whole = ParseWhole(cell, value);
  if (cells == 0) first = value;
  are_steps = are_steps && is_whole && first <= 1 && value == first + cells;
  cells++;
  if (is_whole) return;
  auto& found = IsWhole<int64_t>(cell) ? negative : text;
  if (!found) found = PlacedCell{line, std::string(cell)};
}

TableFormat DetectTable(const std::string& path, const TableHints& hints) {
  LineReader lines(path);
  const Sample sample = ReadSample(lines);
  TableFormat format;
  if (hints.separator) format.separator = *hints.separator;
  if (sample.lines.empty()) return format;
  std::vector<Row> rows;
  if (hints.separator) {
    try {
      rows = Cut(sample, format.separator);
    } catch (const Error& error) {
      Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[0], ": ", error.what());
    }
  } else {
    rows = CutByBestSeparator(path, sample, format.separator);
  }
  if (rows.empty()) {
    Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[0],
          ": a quoted cell begins here and goes on for ", sample.lines.size(), " lines or more");
  }
  format.header = hints.header ? *hints.header : LooksLikeHeader(rows, hints.names);
  format.first_line = rows[0].line;
  NameColumns(path, rows[0], format);
  format.ids = IdColumns(rows, format.header ? 1 : 0);
  return format;
}

size_t TableFormat::Find(const std::string& path, const std::string& column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found != columns.end()) return static_cast<size_t>(found - columns.begin());
  size_t position = 0;
  const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), position);
  if (error == std::errc() && end == column.data() + column.size() && position < columns.size()) {
    return position;
  }
  Throw(ErrorCode::kInvalid, path, " has no column '", column, "'; there are ", columns.size(),
        ": ", Join(columns, ", "),
        header ? ""
               : " (positions: there is no header); if its first row is a header, give --header "
                 "yes");
}

}  // namespace graphd
