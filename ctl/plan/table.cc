// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/table.h"

#include <algorithm>
#include <utility>

namespace graphd::ctl {
namespace {

using TableRow = std::vector<std::string>;

constexpr const char* kGap = "  ";
constexpr size_t kGapSize = 2;

// The columns of one part of a divided table: the first column of the table, and the columns
// `begin` to `end` - 1.
struct Columns {
  size_t begin, end;
};

// Divides the columns into parts that are at most `width` wide. A part may be wider if it has only
// one column besides the first.
std::vector<Columns> Divide(const std::vector<size_t>& widths, size_t width) {
  std::vector<Columns> parts{{1, 1}};
  size_t used = widths[0];
  for (size_t i = 1; i < widths.size(); i++) {
    if (used + kGapSize + widths[i] > width && parts.back().begin < i) {
      parts.push_back({i, i});
      used = widths[0];
    }
    used += kGapSize + widths[i];
    parts.back().end = i + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::string> AlignTable(const std::vector<TableRow>& rows, size_t first_number,
                                    size_t end_number, size_t width) {
  std::vector<size_t> widths(rows[0].size());
  for (const TableRow& row : rows) {
    const bool is_whole = row.size() == widths.size();
    for (size_t i = 0; i < (is_whole ? row.size() : row.size() - 1); i++) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  const auto cell = [&](const TableRow& row, size_t i) {
    const std::string space(widths[i] - std::min(widths[i], row[i].size()), ' ');
    return i >= first_number && i < end_number ? space + row[i] : row[i] + space;
  };
  std::vector<std::string> lines;
  for (const Columns& columns : Divide(widths, width)) {
    for (const TableRow& row : rows) {
      const bool has_message = row.size() < widths.size();
      if (has_message && columns.begin > 1) continue;  // the message is in the first part
      std::string line = cell(row, 0);
      for (size_t i = columns.begin; i < (has_message ? row.size() : columns.end); i++) {
        line += kGap + cell(row, i);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace graphd::ctl
