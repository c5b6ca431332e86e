// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace graphd {

// Gives ids consecutive local numbers in order of first appearance: the heart of to_block. Uses an
// array of {epoch, local}, indexed by id, if that fits into the budget, so that Start need not
// clear anything; otherwise a hash table with open addressing. Not thread-safe.
class RelabelTable {
 public:
  // Makes a table for ids 0 .. num_ids-1. `dense_budget` is the maximum size of the array in bytes,
  // of which it takes 8 per id.
  explicit RelabelTable(int64_t num_ids, size_t dense_budget = size_t{256} << 20);

  // Forgets everything. `expected` is a guess of the number of distinct ids to come.
  void Start(size_t expected);
  // Appends ids not seen since Start to `nodes` and writes each id's local number (position in
  // `nodes`) to `local`, unless null. Returns the number of new ids.
  size_t Add(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);

 private:
  struct Cell {
    uint32_t epoch = 0;
    uint32_t local = 0;
  };
  struct Slot {
    int64_t id;
    uint32_t local;
  };
  size_t AddDense(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);
  size_t AddHashed(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);
  void Grow(size_t slots);

  bool dense_;
  uint32_t epoch_ = 0;
  std::vector<Cell> cells_;  // dense: by id
  std::vector<Slot> slots_;  // hashed: a power of two, id -1 is free
  size_t used_ = 0;
};

}  // namespace graphd
