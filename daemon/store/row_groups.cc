// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/row_groups.h"

#include <algorithm>
#include <bit>

#include "base/rng.h"

namespace graphd::store {

void RowGroups::Build(std::span<const int64_t> rows, std::span<const uint32_t> picks) {
  firsts_.clear();
  next_.assign(picks.size(), kEnd);
  const size_t cells = std::bit_ceil(std::max<size_t>(2 * picks.size(), 64));
  if (cells > cells_.size()) {
    cells_.assign(cells, {});
    epoch_ = 0;
  }
  if (++epoch_ == 0) {  // wrapped: old epochs could be taken for new
    std::fill(cells_.begin(), cells_.end(), Cell{});
    epoch_ = 1;
  }
  const size_t mask = cells_.size() - 1;
  for (uint32_t i = 0; i < picks.size(); i++) {
    const int64_t row = rows[picks[i]];
    size_t at = Mix64(static_cast<uint64_t>(row)) & mask;
    while (cells_[at].epoch == epoch_ && rows[picks[cells_[at].first]] != row) at = (at + 1) & mask;
    Cell& cell = cells_[at];
    if (cell.epoch == epoch_) {
      next_[cell.last] = i;
      cell.last = i;
    } else {
      cell = {epoch_, i, i};
      firsts_.push_back(i);
    }
  }
}

}  // namespace graphd::store
