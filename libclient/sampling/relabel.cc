// SPDX-License-Identifier: Apache-2.0
#include "sampling/relabel.h"

#include <algorithm>
#include <bit>

#include "base/prefetch.h"
#include "base/rng.h"

namespace graphd {

RelabelTable::RelabelTable(int64_t num_ids, size_t dense_budget)
    : dense_(static_cast<uint64_t>(num_ids) * sizeof(Cell) <= dense_budget) {
  if (dense_) cells_.resize(static_cast<size_t>(num_ids));
}

void RelabelTable::Start(size_t expected) {
  if (dense_) {
    if (++epoch_ == 0) {  // wrapped: old epochs could be taken for new
      std::fill(cells_.begin(), cells_.end(), Cell{});
      epoch_ = 1;
    }
    return;
  }
  used_ = 0;
  slots_.assign(std::bit_ceil(std::max<size_t>(expected * 2, 1024)), Slot{-1, 0});
}

size_t RelabelTable::Add(std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                         int32_t* local) {
  return dense_ ? AddDense(ids, nodes, local) : AddHashed(ids, nodes, local);
}

size_t RelabelTable::AddDense(std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                              int32_t* local) {
  Cell* cells = cells_.data();
  const size_t before = nodes.size();
  for (size_t i = 0; i < ids.size(); i++) {
    if (i + kPrefetchAhead < ids.size()) __builtin_prefetch(cells + ids[i + kPrefetchAhead], 1);
    Cell& cell = cells[ids[i]];
    if (cell.epoch != epoch_) {
      cell = {epoch_, static_cast<uint32_t>(nodes.size())};
      nodes.push_back(ids[i]);
    }
    if (local) local[i] = static_cast<int32_t>(cell.local);
  }
  return nodes.size() - before;
}

void RelabelTable::Grow(size_t slots) {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(slots, Slot{-1, 0});
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    size_t at = Mix64(static_cast<uint64_t>(slot.id)) & (slots - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots - 1);
    slots_[at] = slot;
  }
}

size_t RelabelTable::AddHashed(std::span<const int64_t> ids, std::vector<int64_t>& nodes,
                               int32_t* local) {
  const size_t before = nodes.size();
  for (size_t i = 0; i < ids.size(); i++) {
    if (used_ * 2 >= slots_.size()) Grow(slots_.size() * 2);
    const size_t mask = slots_.size() - 1;
    if (i + kPrefetchAhead < ids.size()) {
      __builtin_prefetch(&slots_[Mix64(static_cast<uint64_t>(ids[i + kPrefetchAhead])) & mask], 1);
    }
    size_t at = Mix64(static_cast<uint64_t>(ids[i])) & mask;
    while (slots_[at].id >= 0 && slots_[at].id != ids[i]) at = (at + 1) & mask;
    if (slots_[at].id < 0) {
      slots_[at] = {ids[i], static_cast<uint32_t>(nodes.size())};
      nodes.push_back(ids[i]);
      used_++;
    }
    if (local) local[i] = static_cast<int32_t>(slots_[at].local);
  }
  return nodes.size() - before;
}

}  // namespace graphd
