// SPDX-License-Identifier: Apache-2.0
#include "sampling/edge_picker.h"

namespace graphd {
namespace {

// The stream for a second try; any number will do.
constexpr uint64_t kAgain = 0x7265747279ULL;

}  // namespace

void EdgePicker::Uniform(const Row& row) {
  const size_t first = num_slots_;
  CounterRng rng = Rng(row);
  if (take_all_ || (!replace_ && !with_arrivals_ && row.degree <= fanout_)) {
    for (uint64_t position = 0; position < row.degree; position++) {
      const uint64_t slot = SlotAt(row, position);
      if (!Excluded(slot)) Emit(slot, ArrivalKeyAt(0));
    }
    return;
  }
  if (with_arrivals_) return UniformByArrival(row, rng);
  if (replace_) {
    for (uint64_t k = 0; k < fanout_; k++) Emit(SlotAt(row, rng.Below(row.degree)));
  } else {
    for (uint64_t position : distinct_.Floyd(rng, row.degree, fanout_)) Emit(SlotAt(row, position));
  }
  if (!source_.exclude) return;
  for (size_t i = first; i < num_slots_; i++) {
    if (Excluded(slots_[i])) {
      num_slots_ = first;
      return UniformAgain(row);
    }
  }
}

// A pick was excluded. What is picked anew must not depend on the first try, or sets that avoid
// excluded edges by luck would be favoured: given that nothing was excluded, the first try is
// uniform among the eligible; this one always is.
void EdgePicker::UniformAgain(const Row& row) {
  CounterRng rng(CombineKeys(CombineKeys(key_, row.stream), kAgain));
  UniformByArrival(row, rng);
}

void EdgePicker::UniformByArrival(const Row& row, CounterRng& rng) {
  return replace_ ? UniformTimedDraws(row, rng) : UniformArrivals(row, rng);
}

// All edges' clocks run at rate 1, those of excluded edges too: they ring and are passed over. The
// next of `left` clocks rings after Exp(left) and is any of them.
void EdgePicker::UniformArrivals(const Row& row, CounterRng& rng) {
  double now = 0;
  uint64_t left = row.degree, wanted = fanout_;
  const auto arrive = [&](uint64_t position) {
    now += Exponential(rng.Next()) / static_cast<double>(left--);
    const uint64_t slot = SlotAt(row, position);
    if (Excluded(slot)) return;
    Emit(slot, ArrivalKeyAt(now));
    wanted--;
  };
  distinct_.Start(row.degree, fanout_);
  if (row.degree > 2 * fanout_) {
    while (wanted > 0 && left > row.degree / 2) {
      const uint64_t position = rng.Below(row.degree);
      if (distinct_.Insert(position)) arrive(position);
    }
  }
  if (wanted > 0) {
    // Much of the row is needed: shuffle what has not rung yet.
    eligible_.clear();
    for (uint64_t position = 0; position < row.degree; position++) {
      if (!distinct_.Contains(position)) eligible_.push_back(position);
    }
    while (wanted > 0 && left > 0) {
      std::swap(eligible_[rng.Below(left)], eligible_[left - 1]);
      arrive(eligible_[left - 1]);
    }
  }
  distinct_.Finish();
}

// Each draw is a race at the rate of the number of eligible edges: rings of all edges, at rate
// `degree`, of which those of excluded edges are passed over.
void EdgePicker::UniformTimedDraws(const Row& row, CounterRng& rng) {
  const size_t first = num_slots_;
  uint64_t patience = 16 + 2 * fanout_;
  double now = 0;
  while (num_slots_ - first < fanout_ && patience > 0) {
    now += Exponential(rng.Next()) / static_cast<double>(row.degree);
    const uint64_t slot = SlotAt(row, rng.Below(row.degree));
    if (Excluded(slot)) {
      patience--;
      continue;
    }
    Emit(slot, ArrivalKeyAt(now));
    now = 0;
  }
  if (num_slots_ - first == fanout_) return;
  ListEligible(row);
  if (eligible_.empty()) return;
  for (; num_slots_ - first < fanout_; now = 0) {
    now += Exponential(rng.Next()) / static_cast<double>(eligible_.size());
    Emit(eligible_[rng.Below(eligible_.size())], ArrivalKeyAt(now));
  }
}

}  // namespace graphd
