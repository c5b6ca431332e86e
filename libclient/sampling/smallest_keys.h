// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace graphd {

// A collection of the `count` smallest of the (key, slot) pairs that were added. Among equal keys,
// the lower slot is the smaller one. It collects more pairs than needed and discards the largest
// from time to time, so that a pair takes only a few operations. Memory is reused. Not thread-safe.
class SmallestKeys {
 public:
  using Entry = std::pair<double, uint64_t>;

  void Start(uint64_t count) {
    count_ = count;
    limit_ = count > 0 ? Entry(std::numeric_limits<double>::infinity(), UINT64_MAX) : Entry();
    entries_.clear();
  }
  // Returns false if Add would certainly discard this pair; it may return true for such a pair,
  // too.
  bool Wants(double key, uint64_t slot) const noexcept {
    return key < limit_.first || (key == limit_.first && slot < limit_.second);
  }
  void Add(double key, uint64_t slot) {
    entries_.emplace_back(key, slot);
    if (entries_.size() / 2 >= count_ && entries_.size() >= kSlack) Shrink();
  }
  // Returns the kept pairs, ascending. Start must be called before the next Add.
  const std::vector<Entry>& Sort() {
    if (entries_.size() > count_) Shrink();
    std::sort(entries_.begin(), entries_.end());
    return entries_;
  }

 private:
  static constexpr size_t kSlack = 64;

  void Shrink() {
    if (entries_.size() <= count_) return;
    const auto end = entries_.begin() + static_cast<ptrdiff_t>(count_);
    std::nth_element(entries_.begin(), end - (count_ > 0), entries_.end());
    entries_.erase(end, entries_.end());
    if (count_ > 0) limit_ = entries_.back();
  }

  uint64_t count_ = 0;
  Entry limit_;  // pairs that are not smaller are discarded
  std::vector<Entry> entries_;
};

}  // namespace graphd
