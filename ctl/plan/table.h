// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace graphd::ctl {

// Lays out a table of texts, whose first row is the heading: columns have the width of their
// longest text, and those from `first_number` on are right-aligned. A row with fewer cells than the
// heading ends with a message, which takes the rest of its line and widens no column.
std::vector<std::string> AlignTable(const std::vector<std::vector<std::string>>& rows,
                                    size_t first_number);

}  // namespace graphd::ctl
