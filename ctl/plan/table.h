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
// widens no column. A table wider than `width` is divided: below its first columns follow the
// others, again with each row's first text, so that only messages can be wider.
std::vector<std::string> AlignTable(const std::vector<std::vector<std::string>>& rows,
                                    size_t first_number, size_t end_number = SIZE_MAX,
                                    size_t width = SIZE_MAX);

}  // namespace graphd::ctl
