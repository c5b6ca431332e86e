// SPDX-License-Identifier: Apache-2.0
#include "sampling/distinct_draws.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace graphd {
namespace {

// The size of the tracker. Draws among more candidates are recorded in the hash table.
constexpr uint64_t kTrackerBytes = uint64_t{1} << 20;
constexpr uint64_t kWordBits = 64;
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
    for (uint64_t old : drawn_) InsertInTable(old);
  }
  if (!InsertInTable(value)) return false;
  drawn_.push_back(value);
  return true;
}

// Adds the number to the hash table. Returns false if the table had it already. The table must have
// a free place.
bool DistinctDraws::InsertInTable(uint64_t value) {
  const size_t mask = table_.size() - 1;
  size_t at = Mix64(value) & mask;
  while (table_[at] != kFree && table_[at] != value) at = (at + 1) & mask;
  return std::exchange(table_[at], value) == kFree;
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

void DistinctDraws::Floyd(CounterRng& rng, uint64_t n, uint64_t count, uint64_t* drawn) {
  if (n <= kWordBits) return FloydInWord(rng, n, count, drawn);
  if (n > kTrackerBytes) return FloydInTable(rng, n, count, drawn);
  Start(n, count);
  uint8_t* tracker = tracker_.data();
  uint64_t* next = drawn;
  for (uint64_t j = n - count; j < n; j++) {
    uint64_t candidate = rng.Below(j + 1);
    // A branch is better here than code without a branch: if it is predicted correctly, the next
    // draw starts before the tracker is read.
    if (tracker[candidate]) [[unlikely]]
      candidate = j;
    tracker[candidate] = 1;
    *next++ = candidate;
  }
  while (next != drawn) tracker[*--next] = 0;
}

// Does the same as Floyd with a hash table.
void DistinctDraws::FloydInTable(CounterRng& rng, uint64_t n, uint64_t count, uint64_t* drawn) {
  table_.assign(std::bit_ceil(std::max<uint64_t>(count, 4) * 2), kFree);
  for (uint64_t j = n - count; j < n; j++) {
    uint64_t number = rng.Below(j + 1);
    if (!InsertInTable(number)) InsertInTable(number = j);
    *drawn++ = number;
  }
}

// Does the same as Floyd with a bit per candidate in a register, and without a branch: among so few
// candidates, draws repeat too often for a branch to be predicted.
void DistinctDraws::FloydInWord(CounterRng& rng, uint64_t n, uint64_t count, uint64_t* drawn) {
  uint64_t taken = 0;
  for (uint64_t j = n - count; j < n; j++) {
    const uint64_t candidate = rng.Below(j + 1);
    const uint64_t repeated = taken >> candidate & 1;
    const uint64_t number = candidate ^ ((candidate ^ j) & (0 - repeated));
    taken |= uint64_t{1} << number;
    *drawn++ = number;
  }
}

}  // namespace graphd
