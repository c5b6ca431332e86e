// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphd/ids.h"

namespace graphd {

// Groups of consecutive nodes. No group spans two partitions. There are at most 65,536 groups and
// one more for each partition, so that a counter for each group fits into the cache. Immutable;
// safe to share between threads.
class NodeCells {
 public:
  // Partition p owns the nodes first[p] .. first[p + 1] - 1.
  explicit NodeCells(const std::vector<int64_t>& first) {
    const auto nodes = static_cast<uint64_t>(first.back());
    while (nodes >> shift_ > 65536) shift_++;
    first_of_block_.resize((nodes >> shift_) + 1, 0);
    for (size_t p = 0; p + 1 < first.size(); p++) {
      const auto part_end = static_cast<uint64_t>(first[p + 1]);
      for (auto begin = static_cast<uint64_t>(first[p]); begin < part_end;
           begin = cells_.back().end) {
        const uint64_t block = begin >> shift_;
        if (begin == block << shift_) first_of_block_[block] = static_cast<uint32_t>(cells_.size());
        const uint64_t block_end = (block + 1) << shift_;
        cells_.push_back({begin, block_end < part_end ? block_end : part_end,
                          static_cast<PartId>(static_cast<int32_t>(p))});
      }
    }
  }

  size_t size() const noexcept { return cells_.size(); }
  uint64_t begin(size_t cell) const noexcept { return cells_[cell].begin; }
  uint64_t end(size_t cell) const noexcept { return cells_[cell].end; }
  PartId part(size_t cell) const noexcept { return cells_[cell].part; }

  size_t Of(uint64_t node) const noexcept {
    size_t cell = first_of_block_[node >> shift_];
    while (node >= cells_[cell].end) cell++;
    return cell;
  }

 private:
  struct Cell {
    uint64_t begin, end;
    PartId part;
  };
  unsigned shift_ = 6;
  std::vector<uint32_t> first_of_block_;  // by node >> shift_
  std::vector<Cell> cells_;
};

}  // namespace graphd
