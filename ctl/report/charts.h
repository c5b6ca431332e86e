// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Pieces of HTML with plots in SVG, whose colours are those of the report's style sheet.

namespace graphd::ctl {

// Returns the text with the characters replaced that have a meaning in contents and attributes of
// HTML. Control characters become U+FFFD.
std::string Escaped(std::string_view text);

// A column of a chart; `label` stands below it, and `text` is shown when the pointer is on it.
struct Column {
  std::string label;
  double value = 0;
  std::string text;
};

// Returns a chart of columns, whose scale begins at 0. Labels are left out where they have no room.
// `top`: the text of the largest value, at the top of the scale. `mean`: a value at which a
// horizontal line is drawn.
std::string ColumnChart(const std::string& title, const std::vector<Column>& columns,
                        const std::string& top, std::optional<double> mean = std::nullopt);

// Returns a small chart of columns without labels, for a cell of a table.
std::string SmallChart(const std::string& title, const std::vector<Column>& columns);

// Returns a matrix of squares, one for each count. The larger the count, the darker the square. The
// rows and columns are numbered from 0, and `row_title` and `column_title` say what they are. In a
// matrix of at most 8 columns, the squares contain their counts. Every square shows its count when
// the pointer is on it. The squares of the diagonal have no colour, because their counts are most
// of the total.
std::string MatrixChart(const std::string& title, const std::vector<std::vector<int64_t>>& rows,
                        const std::string& row_title, const std::string& column_title);

}  // namespace graphd::ctl
