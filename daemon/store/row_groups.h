// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace graphd::store {

// Which picks of a push name the same row, in the order of their first occurrence. Keeps its memory
// from call to call. Not thread-safe.
class RowGroups {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;

  // `picks` are positions in `rows`, ascending.
  void Build(std::span<const int64_t> rows, std::span<const uint32_t> picks);

  // First occurrences, as indices into `picks`.
  std::span<const uint32_t> firsts() const noexcept { return firsts_; }
  // The next occurrence of the same row, kEnd behind the last.
  uint32_t next(uint32_t pick) const noexcept { return next_[pick]; }
  bool any_duplicate() const noexcept { return firsts_.size() != next_.size(); }

 private:
  struct Cell {
    uint32_t epoch = 0;
    uint32_t first = 0;
    uint32_t last = 0;
  };
  std::vector<Cell> cells_;
  std::vector<uint32_t> firsts_, next_;
  uint32_t epoch_ = 0;
};

}  // namespace graphd::store
