// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/class_counts.h"

namespace graphd::ctl {

void ClassCounts::Add(int64_t value, uint64_t count) {
  if (too_many_) return;
  if (static_cast<uint64_t>(value) < kMost) {
    uint64_t& of_value = small_[static_cast<size_t>(value)];
    distinct_small_ += of_value == 0;
    of_value += count;
  } else {
    others_[value] += count;
  }
  if (distinct_small_ + others_.size() > kMost) GiveUp();
}

void ClassCounts::GiveUp() {
  too_many_ = true;
  others_.clear();
}

void ClassCounts::Add(const ClassCounts& other) {
  if (other.too_many_) GiveUp();
  if (too_many_) return;
  for (const auto& [value, count] : other.counts()) Add(value, count);
}

std::map<int64_t, uint64_t> ClassCounts::counts() const {
  std::map<int64_t, uint64_t> counts(others_.begin(), others_.end());
  for (size_t value = 0; value < kMost; value++) {
    if (small_[value] > 0) counts.emplace(static_cast<int64_t>(value), small_[value]);
  }
  return counts;
}

}  // namespace graphd::ctl
