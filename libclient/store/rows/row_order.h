// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace graphd::store {

// The positions of a push's rows, in the order in which they are applied: sorted by the lane of the
// row's page, then by row, then by position in the push. The positions of each lane, each page and
// each row are therefore contiguous. Not thread-safe.
class RowOrder {
 public:
  static constexpr size_t kLanes = 8;

  // Allocates memory for `count` rows; Sort fills it.
  explicit RowOrder(size_t count) : positions_(count), other_(count) {}
  // Sorts `count` rows, which are below `num_rows`, by radix sort: some ten nanoseconds per row.
  void Sort(std::span<const int64_t> rows, int64_t num_rows) noexcept;

  std::span<const uint32_t> lane(size_t i) const noexcept {
    return std::span(positions_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  std::vector<uint32_t> positions_, other_;
  uint32_t begins_[kLanes + 1] = {};
};

}  // namespace graphd::store
