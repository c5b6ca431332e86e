// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace graphd::ctl {

// Counts how many elements of a feature have each value, for features with few distinct values. If
// there are more than kMost values, it stops counting, so that its memory is bounded. Not
// thread-safe.
class ClassCounts {
 public:
  static constexpr size_t kMost = 1024;

  void Add(int64_t value) { Add(value, 1); }
  void Add(const ClassCounts& other);
  // Stops counting, as if there were too many values.
  void GiveUp();
  // Returns whether there were more than kMost values.
  bool too_many() const noexcept { return too_many_; }
  // Returns the counts by ascending value. Requires: !too_many().
  std::map<int64_t, uint64_t> counts() const;

 private:
  void Add(int64_t value, uint64_t count);
  std::array<uint64_t, kMost> small_{};  // the counts of 0 .. kMost - 1
  size_t distinct_small_ = 0;
  std::unordered_map<int64_t, uint64_t> others_;
  bool too_many_ = false;
};

}  // namespace graphd::ctl
