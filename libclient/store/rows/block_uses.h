// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace graphd::store {

// How many of an array's pages that are in memory use each of its blocks of 4 KiB: a block's memory
// comes with the first and goes with the last, wherever pages begin. Not thread-safe.
class BlockUses {
 public:
  static constexpr uint64_t kBlock = 4096;  // of the system; at most 64 table pages begin in one

  explicit BlockUses(uint64_t bytes) : counts_((bytes + kBlock - 1) / kBlock) {}

  // The bytes from `begin` to `end` come into use, or go out of it. Calls f(first byte, bytes) for
  // each stretch of blocks that were unused, or are now, and returns their bytes. What f throws
  // leaves the counts as if all had gone well: take them back.
  template <class F>
  uint64_t Add(uint64_t begin, uint64_t end, const F& f) {
    return Each(begin, end, f, [](uint8_t& count) { return count++ == 0; });
  }
  template <class F>
  uint64_t Drop(uint64_t begin, uint64_t end, const F& f) {
    return Each(begin, end, f, [](uint8_t& count) { return --count == 0; });
  }

 private:
  template <class F, class Change>
  uint64_t Each(uint64_t begin, uint64_t end, const F& f, const Change& change) {
    if (begin == end) return 0;
    uint64_t first = begin / kBlock;
    const uint64_t last = (end - 1) / kBlock + 1;
    uint64_t stop = last;  // all blocks but those at the ends are the page's own: one stretch
    while (first < stop && !change(counts_[first])) first++;
    for (uint64_t block = first + 1; block < last; block++) {
      if (!change(counts_[block]) && block < stop) stop = block;
    }
    if (first >= stop) return 0;
    f(first * kBlock, (stop - first) * kBlock);
    return (stop - first) * kBlock;
  }

  std::vector<uint8_t> counts_;
};

}  // namespace graphd::store
