// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace graphd::ctl {

// Lays out a table of texts, whose first row is the heading: columns have the width of their
// longest text, and those from `first_number` on, but before `end_number`, are right-aligned. A row
// with fewer cells than the heading ends with a message, which takes the rest of its line and
// widens no column.
std::vector<std::string> AlignTable(const std::vector<std::vector<std::string>>& rows,
                                    size_t first_number, size_t end_number = SIZE_MAX);

}  // namespace graphd::ctl
