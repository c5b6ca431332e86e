// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace graphd::store {

// The number of resident table pages in each 4 KiB block of an array. With it, the memory of a
// block is allocated when the first of its table pages is loaded, and freed when the last one is
// evicted. So table pages may begin anywhere. Not thread-safe.
class BlockUses {
 public:
  static constexpr uint64_t kBlock =
      4096;  // page size of the system; at most 64 table pages begin in one

  explicit BlockUses(uint64_t bytes) : counts_((bytes + kBlock - 1) / kBlock) {}

  // Add counts the page from byte `begin` to `end`, and Remove stops counting it. They call f(first
  // byte, bytes) for the range of blocks that were unused before Add, or are unused after Remove,
  // and return the bytes of this range. If f throws, the counts are already updated, and the caller
  // must undo the update.
  template <class F>
  uint64_t Add(uint64_t begin, uint64_t end, const F& f) {
    return Each(begin, end, f, [](uint8_t& count) { return count++ == 0; });
  }
  template <class F>
  uint64_t Remove(uint64_t begin, uint64_t end, const F& f) {
    return Each(begin, end, f, [](uint8_t& count) { return --count == 0; });
  }

 private:
  template <class F, class Change>
  uint64_t Each(uint64_t begin, uint64_t end, const F& f, const Change& change) {
    if (begin == end) return 0;
    uint64_t first = begin / kBlock;
    const uint64_t last = (end - 1) / kBlock + 1;
    uint64_t stop = last;  // only blocks at the ends are shared, so the range is contiguous
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
