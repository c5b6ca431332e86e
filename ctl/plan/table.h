// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace graphd::ctl {

// Lays out a table of texts, whose first row is the heading: columns have the width of their
// longest text, and the columns from `first_number` to `end_number` - 1 are right-aligned. If a row
// has fewer cells than the heading, its last cell is a message, which takes the rest of the line
// and widens no column. A table wider than `width` is divided into parts below one another. Each
// part has some of the columns, and repeats the first column. Only messages can be wider than
// `width`.
std::vector<std::string> AlignTable(const std::vector<std::vector<std::string>>& rows,
                                    size_t first_number, size_t end_number = SIZE_MAX,
                                    size_t width = SIZE_MAX);

}  // namespace graphd::ctl
