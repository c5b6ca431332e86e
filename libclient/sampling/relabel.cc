// SPDX-License-Identifier: Apache-2.0
#include "sampling/relabel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/rng.h"

namespace graphd {
namespace {

// The number of ids for which `nodes` is made larger at a time. It is small enough that the new
// entries, which resize() clears, are still in the cache when ids are written to them.
constexpr size_t kIdsAtOnce = 1024;
// The number of ids by which their places in the table are prefetched ahead. It is larger than the
// number for rows (kPrefetchAhead), because there is little other work on an id, so that more ids
// pass during a memory access.
constexpr size_t kIdsAhead = 40;
// The least number of slots that are allocated, so that a growing batch needs fewer allocations.
constexpr size_t kFewestSlots = 4096;
constexpr const char* kWhat = "the numbers of a batch's nodes";

// Returns the number of slots for this number of ids, of which they use at most three quarters.
size_t SlotsFor(size_t ids) { return std::bit_ceil(std::max<size_t>(ids + ids / 3 + 1, 64)); }

}  // namespace

RelabelTable::Kind RelabelTable::KindFor(int64_t num_ids, size_t dense_budget) {
  const auto ids = static_cast<uint64_t>(num_ids);
  if (ids <= SmallCell::kNumbers && ids <= dense_budget / sizeof(SmallCell)) {
    return Kind::kSmallCells;
  }
  return ids <= dense_budget / sizeof(LargeCell) ? Kind::kLargeCells : Kind::kHashed;
}

RelabelTable::RelabelTable(int64_t num_ids, size_t dense_budget)
    : kind_(KindFor(num_ids, dense_budget)), wide_(num_ids > int64_t{1} << 32) {
  const auto ids = static_cast<size_t>(num_ids);
  if (kind_ == Kind::kSmallCells) small_cells_ = HugeArray<SmallCell>(ids, kWhat);
  if (kind_ == Kind::kLargeCells) large_cells_ = HugeArray<LargeCell>(ids, kWhat);
}

template <class Cells>
void RelabelTable::StartDense(Cells& cells) {
  using Cell = std::decay_t<decltype(cells[0])>;
  is_first_known_ = false;
  if (epoch_++ < Cell::kEpochs) return;
  // Epochs are exhausted and begin again, so cells of old epochs must be cleared.
  std::fill_n(cells.data(), cells.size(), Cell{});
  epoch_ = 1;
}

void RelabelTable::Start(size_t expected) {
  if (kind_ == Kind::kSmallCells) return StartDense(small_cells_);
  if (kind_ == Kind::kLargeCells) return StartDense(large_cells_);
  used_ = 0;
  const size_t slots = SlotsFor(expected);
  if (slots_.size() < slots) {
    slots_ = HugeArray<Slot>();  // returns the memory first; new memory is zeroed
    slots_ = HugeArray<Slot>(std::max(slots, kFewestSlots), kWhat);
  } else {
    std::fill_n(slots_.data(), slots, Slot{});
  }
  mask_ = slots - 1;
}

size_t RelabelTable::Add(std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                         int32_t* local) {
  if (kind_ == Kind::kSmallCells) return AddDense(small_cells_, ids, nodes, local);
  if (kind_ == Kind::kLargeCells) return AddDense(large_cells_, ids, nodes, local);
  return AddHashed(ids, nodes, local);
}

template <class Cells>
size_t RelabelTable::AddDense(Cells& all, std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                              int32_t* local) {
  using Cell = std::decay_t<decltype(all[0])>;
  using Word = decltype(Cell::word);
  const size_t before = nodes.size();
  if (!is_first_known_) first_ = before;
  is_first_known_ = true;
  Cell* cells = all.data();
  const Word epoch = static_cast<Word>(Word{epoch_} * (Cell::kNumbers + Word{1}));
  const size_t first = first_;
  size_t count = before;
  // A branch on whether an id is new could not be predicted, so each id is written to the end of
  // `nodes`, and stays there if it is new.
  for (size_t begin = 0; begin < ids.size(); begin += kIdsAtOnce) {
    const size_t end = std::min(begin + kIdsAtOnce, ids.size());
    nodes.resize(count + (end - begin));
    int64_t* out = nodes.data();
    for (size_t i = begin; i < end; i++) {
      if (i + kIdsAhead < ids.size()) __builtin_prefetch(cells + ids[i + kIdsAhead], 1);
      Cell& cell = cells[ids[i]];
      const auto next = static_cast<Word>(epoch | static_cast<Word>(count - first));
      // The cell is of this epoch if no bit of the two epochs differs.
      const bool is_new = (cell.word ^ next) > Cell::kNumbers;
      cell.word = is_new ? next : cell.word;
      out[count] = ids[i];
      count += is_new ? 1 : 0;
      if (local) local[i] = static_cast<int32_t>((cell.word & Cell::kNumbers) + first);
    }
  }
  nodes.resize(count);
  return count - before;
}

void RelabelTable::Grow(size_t slots, const std::vector<int64_t>& nodes) {
  HugeArray<Slot> larger(std::max(slots, slots_.size()), kWhat);
  const HugeArray<Slot> old = std::exchange(slots_, std::move(larger));
  const size_t old_slots = std::exchange(mask_, slots - 1) + 1;
  for (size_t i = 0; i < old_slots; i++) {
    if (old[i].number == 0) continue;
    size_t at = Mix64(static_cast<uint64_t>(nodes[old[i].number - 1])) & mask_;
    while (slots_[at].number != 0) at = (at + 1) & mask_;
    slots_[at] = old[i];
  }
}

size_t RelabelTable::AddHashed(std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                               int32_t* local) {
  const size_t before = nodes.size();
  size_t count = before;
  for (size_t begin = 0; begin < ids.size(); begin += kIdsAtOnce) {
    const size_t end = std::min(begin + kIdsAtOnce, ids.size());
    const size_t wanted = SlotsFor(used_ + (count - before) + (end - begin));
    if (wanted > mask_ + 1) Grow(wanted, nodes);
    nodes.resize(count + (end - begin));
    int64_t* out = nodes.data();
    Slot* slots = slots_.data();
    const size_t mask = mask_;
    for (size_t i = begin; i < end; i++) {
      if (i + kIdsAhead < ids.size()) {
        __builtin_prefetch(&slots[Mix64(static_cast<uint64_t>(ids[i + kIdsAhead])) & mask], 1);
      }
      const auto low = static_cast<uint32_t>(ids[i]);
      size_t at = Mix64(static_cast<uint64_t>(ids[i])) & mask;
      while (slots[at].number != 0 &&
             (slots[at].low != low || (wide_ && out[slots[at].number - 1] != ids[i]))) {
        at = (at + 1) & mask;
      }
      // There is no branch on whether the id is new, as in AddDense.
      const uint32_t is_new = slots[at].number == 0;
      const auto next = static_cast<uint32_t>(count + 1);
      const uint32_t number = slots[at].number | (next & (0 - is_new));
      out[count] = ids[i];
      slots[at] = {low, number};
      count += is_new;
      if (local) local[i] = static_cast<int32_t>(number - 1);
    }
  }
  nodes.resize(count);
  used_ += count - before;
  return count - before;
}

}  // namespace graphd
