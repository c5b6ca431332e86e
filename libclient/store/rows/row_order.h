// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace graphd::store {

// Positions in a push's rows, in the order in which they are applied: by lane of the row's page,
// then by row, then as the push has them. So the rows of a page, and the occurrences of a row, lie
// together, and each lane's share is one stretch.
class RowOrder {
 public:
  static constexpr size_t kLanes = 8;

  // Takes the memory for so many rows; none has a place yet.
  explicit RowOrder(size_t count) : picks_(count), other_(count) {}
  // Of that many rows, which are below `num_rows`. A radix sort: some ten nanoseconds per row.
  void Sort(std::span<const int64_t> rows, int64_t num_rows) noexcept;

  std::span<const uint32_t> lane(size_t i) const noexcept {
    return std::span(picks_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  std::vector<uint32_t> picks_, other_;
  uint32_t begins_[kLanes + 1] = {};
};

}  // namespace graphd::store
