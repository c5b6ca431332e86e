// SPDX-License-Identifier: Apache-2.0
#include "sampling/edge_set.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace graphd {

void EdgeSet::Assign(std::span<const int64_t> edge_rows) {
  size_ = 0;
  table_.assign(std::bit_ceil(std::max<size_t>(edge_rows.size(), 8) * 2), kFree);
  const size_t mask = table_.size() - 1;
  for (int64_t row : edge_rows) {
    GRAPHD_CHECK(row >= 0, "edge rows of a set are not negative");
    const auto value = static_cast<uint64_t>(row);
    size_t at = Mix64(value) & mask;
    while (table_[at] != kFree && table_[at] != value) at = (at + 1) & mask;
    size_ += table_[at] == kFree;
    table_[at] = value;
  }
}

}  // namespace graphd
