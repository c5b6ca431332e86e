// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/huge_pages.h"

namespace graphd::store {

// How much of each large page of an array is in memory. Not thread-safe.
class FullPages {
 public:
  explicit FullPages(uint64_t bytes) : there_(bytes / kHugePage) {}

  // The bytes from `begin` to `end`, which were not counted yet, are in memory now. Calls
  // full(offset) for each large page that is all there with them.
  template <class F>
  void Add(uint64_t begin, uint64_t end, const F& full) {
    while (begin < end) {
      const uint64_t page = begin / kHugePage;
      if (page >= there_.size()) return;  // the end of the array is less than one
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
