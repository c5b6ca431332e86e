// SPDX-License-Identifier: Apache-2.0
#include "sampling/distinct_draws.h"

#include <algorithm>
#include <bit>

namespace graphd {
namespace {

constexpr uint64_t kTrackerBytes = uint64_t{1} << 20;  // fits the second-level cache
constexpr uint64_t kFree = UINT64_MAX;

}  // namespace

void DistinctDraws::Start(uint64_t n, uint64_t expected) {
  drawn_.clear();
  hashed_ = n > kTrackerBytes;
  if (hashed_) {
    table_.assign(std::bit_ceil(std::clamp<uint64_t>(expected, 4, n) * 4), kFree);
  } else if (tracker_.empty()) {
    tracker_.resize(kTrackerBytes);
  }
}

bool DistinctDraws::InsertHashed(uint64_t value) {
  if (drawn_.size() * 2 >= table_.size()) {
    table_.assign(table_.size() * 4, kFree);
    const size_t mask = table_.size() - 1;
    for (uint64_t old : drawn_) {
      size_t at = Mix64(old) & mask;
      while (table_[at] != kFree) at = (at + 1) & mask;
      table_[at] = old;
    }
  }
  const size_t mask = table_.size() - 1;
  for (size_t at = Mix64(value) & mask;; at = (at + 1) & mask) {
    if (table_[at] == value) return false;
    if (table_[at] == kFree) {
      table_[at] = value;
      drawn_.push_back(value);
      return true;
    }
  }
}

bool DistinctDraws::Contains(uint64_t value) const noexcept {
  if (!hashed_) return tracker_[value] != 0;
  const size_t mask = table_.size() - 1;
  for (size_t at = Mix64(value) & mask;; at = (at + 1) & mask) {
    if (table_[at] == value) return true;
    if (table_[at] == kFree) return false;
  }
}

void DistinctDraws::Finish() noexcept {
  if (hashed_) return;
  for (uint64_t value : drawn_) tracker_[value] = 0;
}

std::span<const uint64_t> DistinctDraws::Floyd(CounterRng& rng, uint64_t n, uint64_t count) {
  Start(n, count);
  if (hashed_) {
    for (uint64_t j = n - count; j < n; j++) {
      if (!InsertHashed(rng.Below(j + 1))) InsertHashed(j);
    }
    return drawn_;
  }
  drawn_.resize(count);
  uint64_t* drawn = drawn_.data();
  uint8_t* tracker = tracker_.data();
  for (uint64_t j = n - count; j < n; j++) {
    uint64_t candidate = rng.Below(j + 1);
    // This branch is intended: when it is predicted correctly, the next draw starts without
    // waiting.
    if (tracker[candidate]) [[unlikely]]
      candidate = j;
    tracker[candidate] = 1;
    *drawn++ = candidate;
  }
  Finish();
  return drawn_;
}

}  // namespace graphd
