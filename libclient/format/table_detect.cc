// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>

#include "format/number_column.h"
#include "format/table.h"

namespace graphd {
namespace {

constexpr size_t kSampleRows = 100;
constexpr std::array kSeparators{',', '\t', ';', ' '};

using Row = std::vector<std::string>;

struct Sample {
  std::vector<std::string> lines;
  std::vector<int64_t> numbers;  // of the lines, in the file
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

// The rows that the lines make; one that is not whole at the end of the sample is left out.
std::vector<Row> Cut(const Sample& sample, char separator) {
  std::vector<Row> rows;
  CellSplitter splitter(separator);
  bool whole = true;
  for (const std::string& line : sample.lines) {
    whole = whole ? splitter.Begin(line) : splitter.Continue(line);
    if (whole) rows.emplace_back(splitter.cells().begin(), splitter.cells().end());
  }
  return rows;
}

bool SameWidth(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const Row& row) { return row.size() == rows[0].size(); });
}

// The rows by the first separator that makes all of them equally long, with two columns or more;
// failing that, by one that makes a single column.
std::vector<Row> CutByBestSeparator(const std::string& path, const Sample& sample,
                                    char& separator) {
  for (char candidate : kSeparators) {
    try {
      std::vector<Row> rows = Cut(sample, candidate);
      if (!rows.empty() && rows[0].size() > 1 && SameWidth(rows)) {
        separator = candidate;
        return rows;
      }
    } catch (const Error&) {
      // Quotes that make no sense with this separator.
    }
  }
  std::vector<Row> rows;
  try {
    rows = Cut(sample, separator = ',');
  } catch (const Error& error) {
    Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[0], ": ", error.what());
  }
  if (SameWidth(rows)) return rows;
  const auto odd = std::find_if(rows.begin(), rows.end(),
                                [&](const Row& row) { return row.size() != rows[0].size(); });
  Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[static_cast<size_t>(odd - rows.begin())],
        ": ", odd->size(), " cells between commas, but ", rows[0].size(), " in line ",
        sample.numbers[0], "; tabs, semicolons and blanks make no equal rows either: correct the ",
        "file, or give --separator");
}

bool IsWhole(std::string_view cell) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size();
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

// By column: whether `test` holds for every cell of the rows from `first`.
template <class F>
std::vector<bool> EveryCell(const std::vector<Row>& rows, size_t first, F&& test) {
  std::vector<bool> all(rows[0].size(), first < rows.size());
  for (size_t r = first; r < rows.size(); r++) {
    for (size_t c = 0; c < all.size() && c < rows[r].size(); c++)
      all[c] = all[c] && test(rows[r][c]);
  }
  return all;
}

bool LooksLikeHeader(const std::vector<Row>& rows) {
  const Row& first = rows[0];
  if (std::any_of(first.begin(), first.end(), IsNumberCell)) return false;
  if (std::any_of(first.begin(), first.end(), IsUsualName)) return true;
  const std::vector<bool> numeric = EveryCell(rows, 1, IsNumberCell);
  return std::find(numeric.begin(), numeric.end(), true) != numeric.end();
}

void NameColumns(const std::string& path, const Sample& sample, const Row& first,
                 TableFormat& format) {
  for (size_t c = 0; c < first.size(); c++) {
    std::string name = format.header ? first[c] : std::to_string(c);
    if (name.empty()) {
      Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[0], ": column ", c,
            " has no name in the header; name it, or give --header no");
    }
    if (std::find(format.columns.begin(), format.columns.end(), name) != format.columns.end()) {
      Throw(ErrorCode::kCorrupt, path, ":", sample.numbers[0], ": the header has two columns '",
            name, "'; rename one, or give --header no");
    }
    format.columns.push_back(std::move(name));
  }
}

}  // namespace

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
  format.header = hints.header ? *hints.header : LooksLikeHeader(rows);
  NameColumns(path, sample, rows[0], format);
  const size_t first = format.header ? 1 : 0;
  format.whole = EveryCell(rows, first, IsWhole);
  if (first == rows.size()) format.whole.assign(rows[0].size(), true);  // no row says otherwise
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
        ": ", Join(columns, ", "), header ? "" : " (positions: there is no header)");
}

}  // namespace graphd
