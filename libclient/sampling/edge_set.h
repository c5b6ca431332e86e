// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace graphd {

// A set of local edge rows that are excluded from a sample: a hash table with open addressing. Its
// memory is reused by the next Assign. Not thread-safe while it is being assigned.
class EdgeSet {
 public:
  EdgeSet() = default;
  explicit EdgeSet(std::span<const int64_t> edge_rows) { Assign(edge_rows); }
  // Replaces the contents; duplicates are allowed, rows must be >= 0.
  void Assign(std::span<const int64_t> edge_rows);

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }
  bool Contains(uint64_t edge_row) const noexcept {
    if (size_ == 0) return false;
    const size_t mask = table_.size() - 1;
    for (size_t at = Mix64(edge_row) & mask;; at = (at + 1) & mask) {
      if (table_[at] == edge_row) return true;
      if (table_[at] == kFree) return false;
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  std::vector<uint64_t> table_;  // a power of two, at most half full
  size_t size_ = 0;
};

}  // namespace graphd
