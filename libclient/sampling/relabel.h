// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/huge_array.h"

namespace graphd {

// Gives ids consecutive local numbers in order of first appearance: the heart of to_block. Uses an
// array of {epoch, local}, indexed by id, if that fits into the budget, so that Start need not
// clear anything; otherwise a hash table with open addressing. Not thread-safe.
class RelabelTable {
 public:
  // Makes a table for ids 0 .. num_ids-1 (INT64_MAX: any). `dense_budget` is the maximum size of
  // the array in bytes, of which it takes 8 per id.
  explicit RelabelTable(int64_t num_ids, size_t dense_budget = size_t{256} << 20);

  // Forgets everything. `expected` is a guess of the number of distinct ids to come.
  void Start(size_t expected);
  // Appends ids not seen since Start to `nodes` and writes each id's local number (position in
  // `nodes`) to `local`, unless null. Returns the number of new ids. All calls after a Start
  // take the same `nodes`, which nobody else changes meanwhile; it may hold other entries before,
  // and stays below 2^31 entries. Throws Error(kOverloaded) if there is too little memory; then
  // `nodes` is of no use, and Start must be called again.
  size_t Add(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);

 private:
  struct Cell {
    uint32_t epoch = 0;
    uint32_t local = 0;
  };
  struct Slot {
    uint32_t low = 0;     // the id's lower 32 bits
    uint32_t number = 0;  // the local number + 1; 0 is free
  };
  size_t AddDense(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);
  size_t AddHashed(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);
  void Grow(size_t slots, const std::vector<int64_t>& nodes);

  bool dense_;
  bool wide_;  // ids have more than 32 bits, so that slots are compared with the nodes, too
  uint32_t epoch_ = 0;
  HugeArray<Cell> cells_;  // dense: by id
  HugeArray<Slot> slots_;  // hashed: the first mask_ + 1 are in use
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace graphd
