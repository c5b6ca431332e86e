// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/huge_array.h"

namespace graphd {

// A table that gives ids consecutive local numbers in the order in which they first appear, as
// DGL's to_block needs them. If an array with an entry for each id fits into the budget, the table
// uses it. An entry has an epoch, which Start increments, so that Start hardly ever has to clear
// the array. Otherwise the table is a hash table with open addressing. Not thread-safe.
class RelabelTable {
 public:
  // Makes a table for ids 0 .. num_ids-1, or for any ids if num_ids is INT64_MAX. `dense_budget` is
  // the maximum size of the array in bytes. The array takes 4 bytes per id for up to 16,777,215
  // ids, and otherwise 8.
  explicit RelabelTable(int64_t num_ids, size_t dense_budget = size_t{256} << 20);

  // Forgets all ids. `expected` is a guess of the number of distinct ids to come.
  void Start(size_t expected);
  // Appends ids that were not seen since Start to `nodes`. Writes the local number of each id,
  // which is its position in `nodes`, to `local`, unless that is null. Returns the number of new
  // ids. All calls after a Start must have the same `nodes`, which nobody else changes meanwhile.
  // `nodes` may have other entries before the first call, and must stay below 2^31 entries. Throws
  // Error(kOverloaded) if there is too little memory; then `nodes` can't be used, and Start must be
  // called again.
  size_t Add(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);

 private:
  // An entry of the array: an epoch and a local number, minus the position of the first node since
  // Start. It takes 4 bytes if they are enough, so that more entries fit into the cache.
  template <class Word, int kNumberBits>
  struct Cell {
    static constexpr Word kEpochs = std::numeric_limits<Word>::max() >> kNumberBits;
    static constexpr Word kNumbers = (Word{1} << kNumberBits) - 1;
    Word word = 0;
  };
  using SmallCell = Cell<uint32_t, 24>;
  using LargeCell = Cell<uint64_t, 32>;
  struct Slot {
    uint32_t low = 0;     // the id's lower 32 bits
    uint32_t number = 0;  // the local number + 1; 0 is free
  };
  template <class Cells>
  void StartDense(Cells& cells);
  template <class Cells>
  size_t AddDense(Cells& cells, std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                  int32_t* local);
  size_t AddHashed(std::span<const int64_t> ids, std::vector<int64_t>& nodes, int32_t* local);
  void Grow(size_t slots, const std::vector<int64_t>& nodes);

  enum class Kind : uint8_t { kSmallCells, kLargeCells, kHashed };
  static Kind KindFor(int64_t num_ids, size_t dense_budget);

  Kind kind_;
  bool wide_;  // ids have more than 32 bits, so that slots are compared with the nodes, too
  uint32_t epoch_ = 0;
  size_t first_ = 0;  // cells: the position in `nodes` of the first node since Start
  bool is_first_known_ = false;
  HugeArray<SmallCell> small_cells_;  // by id
  HugeArray<LargeCell> large_cells_;  // by id
  HugeArray<Slot> slots_;             // the hash table, which is the first mask_ + 1 slots
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace graphd
