// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/table.h"

#include <algorithm>

namespace graphd::ctl {
namespace {

using TableRow = std::vector<std::string>;

std::string AlignRow(const TableRow& row, const std::vector<size_t>& widths, size_t first_number,
                     size_t end_number) {
  std::string line;
  for (size_t i = 0; i < row.size(); i++) {
    const std::string space(widths[i] - std::min(widths[i], row[i].size()), ' ');
    line += i >= first_number && i < end_number ? space + row[i] : row[i] + space;
    if (i + 1 < row.size()) line += "  ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::vector<std::string> AlignTable(const std::vector<TableRow>& rows, size_t first_number,
                                    size_t end_number) {
  std::vector<size_t> widths(rows[0].size());
  for (const TableRow& row : rows) {
    const bool is_whole = row.size() == widths.size();
    for (size_t i = 0; i < (is_whole ? row.size() : row.size() - 1); i++) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::vector<std::string> lines;
  for (const TableRow& row : rows) lines.push_back(AlignRow(row, widths, first_number, end_number));
  return lines;
}

}  // namespace graphd::ctl
