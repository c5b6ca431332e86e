// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/huge_pages.h"

namespace graphd::store {

// The number of bytes of each huge page of an array that are in memory. Not thread-safe.
class FullPages {
 public:
  explicit FullPages(uint64_t bytes) : there_(bytes / kHugePage) {}

  // Counts the bytes from `begin` to `end`, which are in memory now and were not counted before.
  // Calls full(offset) for each huge page that is thereby complete.
  template <class F>
  void Add(uint64_t begin, uint64_t end, const F& full) {
    while (begin < end) {
      const uint64_t page = begin / kHugePage;
      if (page >= there_.size()) return;  // the array ends with part of a huge page
      const uint64_t some = std::min(end, (page + 1) * kHugePage) - begin;
      there_[page] += static_cast<uint32_t>(some);
      if (there_[page] == kHugePage) full(page * kHugePage);
      begin += some;
    }
  }

 private:
  std::vector<uint32_t> there_;
};

}  // namespace graphd::store
