// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace graphd {

// Keeps the `count` smallest of the (key, slot) pairs added; ties go to the lower slot. Memory is
// reused. Not thread-safe.
class SmallestKeys {
 public:
  using Entry = std::pair<double, uint64_t>;

  void Start(uint64_t count) {
    count_ = count;
    entries_.clear();
  }
  // Whether Add would keep this pair.
  bool Wants(double key, uint64_t slot) const noexcept {
    if (entries_.size() < count_) return true;
    return count_ > 0 && Entry(key, slot) < entries_.front();
  }
  // Only if Wants.
  void Add(double key, uint64_t slot) {
    if (entries_.size() == count_) {
      std::pop_heap(entries_.begin(), entries_.end());
      entries_.pop_back();
    }
    entries_.emplace_back(key, slot);
    std::push_heap(entries_.begin(), entries_.end());
  }
  // What was kept, ascending. Ends the collection: Start before the next Add.
  const std::vector<Entry>& Sort() {
    std::sort_heap(entries_.begin(), entries_.end());
    return entries_;
  }

 private:
  uint64_t count_ = 0;
  std::vector<Entry> entries_;  // a heap, the largest in front
};

}  // namespace graphd
