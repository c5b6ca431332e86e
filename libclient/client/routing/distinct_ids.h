// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace graphd {

// The distinct ids of a list, in the order in which they first occur, with a hash table of their
// numbers. Not thread-safe. Memory is reused from list to list.
class DistinctIds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Replaces the list by the elements of `ids` at `indices`. Calls is_again(index, first) for every
  // index whose id has occurred before, at index `first`.
  template <class IsAgain>
  void Assign(std::span<const int64_t> ids, std::span<const uint32_t> indices, IsAgain is_again);
  // Returns those of the indices passed to Assign at which an id occurs first.
  std::span<const uint32_t> indices() const noexcept { return indices_; }
  // Returns the number of an id among the distinct ids, from 0 on, or kNone if the list does not
  // have the id.
  uint32_t Find(int64_t id) const noexcept { return table_[Place(id)]; }

 private:
  // Returns the slot of an id in the table, or the free slot where the id would be stored.
  size_t Place(int64_t id) const noexcept {
    const size_t mask = table_.size() - 1;
    size_t at = Mix64(static_cast<uint64_t>(id)) & mask;
    while (table_[at] != kNone && ids_[table_[at]] != id) at = (at + 1) & mask;
    return at;
  }

  std::vector<int64_t> ids_;
  std::vector<uint32_t> indices_;
  std::vector<uint32_t> table_{kNone};  // numbers of ids, by open addressing
};

template <class IsAgain>
void DistinctIds::Assign(std::span<const int64_t> ids, std::span<const uint32_t> indices,
                         IsAgain is_again) {
  ids_.clear();
  indices_.clear();
  size_t size = 1;
  while (size < 2 * indices.size() + 1) size *= 2;
  table_.assign(size, kNone);
  for (const uint32_t i : indices) {
    uint32_t& number = table_[Place(ids[i])];
    if (number != kNone) {
      is_again(i, indices_[number]);
      continue;
    }
    number = static_cast<uint32_t>(ids_.size());
    ids_.push_back(ids[i]);
    indices_.push_back(i);
  }
}

}  // namespace graphd
