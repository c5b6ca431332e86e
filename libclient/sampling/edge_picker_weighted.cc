// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sampling/edge_picker.h"

namespace graphd {

void EdgePicker::Weighted(const Row& row) {
  const AliasIndex& alias = *source_.alias;
  const uint32_t positive = alias.positive(row.index);
  if (positive == 0) return;
  if (take_all_ || (!replace_ && !with_arrivals_ && positive <= fanout_)) {
    for (uint64_t slot = row.begin; slot < row.begin + row.degree; slot++) {
      if (alias.weight(slot) > 0 && !Excluded(slot)) Emit(slot, ArrivalKeyAt(0));
    }
    return;
  }
  CounterRng rng = Rng(row);
  return replace_ ? WeightedWithReplacement(row, rng) : WeightedWithoutReplacement(row, rng);
}

uint64_t EdgePicker::DrawWeighted(const Row& row, CounterRng& rng) const noexcept {
  uint64_t position = row.degree;
  while (position == row.degree) {
    position = source_.alias->Draw(row.begin, row.degree, rng.Next());
  }
  return position;
}

// The cells of the first draws, since what the row's random numbers will be is known; or the
// weights, if the row will be read through.
void EdgePicker::PrefetchDraws(const Row& row) const noexcept {
  if (!replace_ && row.degree / 2 <= fanout_) return source_.alias->PrefetchWeight(row.begin);
  CounterRng rng = Rng(row);
  const uint64_t draws = std::min<uint64_t>(fanout_, 64);
  for (uint64_t k = 0; k < draws; k++) {
    if (with_arrivals_) rng.Next();
    source_.alias->Prefetch(row.begin + ((rng.Next() >> 32) * row.degree >> 32));
  }
}

// Successive draws: those that hit an edge again are passed over. When that gets tedious, each edge
// not drawn yet gets an exponential key, and the smallest go on from there: exactly the same
// distribution, because when a clock has not rung yet, its remaining time does not depend on how
// long it has run (P. Efraimidis and P. Spirakis, "Weighted random sampling with a reservoir",
// 2006).
void EdgePicker::WeightedWithoutReplacement(const Row& row, CounterRng& rng) {
  double now = 0;
  const double total = source_.alias->total(row.index);
  uint64_t wanted = fanout_;
  distinct_.Start(row.degree, fanout_);
  if (row.degree > 2 * fanout_) {
    for (uint64_t budget = 16 + 4 * fanout_; budget > 0 && wanted > 0; budget--) {
      if (with_arrivals_) now += Exponential(rng.Next()) / total;
      const uint64_t position = DrawWeighted(row, rng);
      if (!distinct_.Insert(position) || Excluded(row.begin + position)) continue;
      Emit(row.begin + position, ArrivalKeyAt(now));
      wanted--;
    }
  }
  if (wanted > 0) WeightedByKeys(row, rng, wanted, now);
  distinct_.Finish();
}

void EdgePicker::WeightedByKeys(const Row& row, CounterRng& rng, uint64_t wanted, double now) {
  smallest_.Start(wanted);
  for (uint64_t position = 0; position < row.degree; position++) {
    const uint64_t slot = row.begin + position;
    const double weight = source_.alias->weight(slot);
    if (weight == 0 || distinct_.Contains(position)) continue;
    const double key = Exponential(rng.Next()) / weight;
    if (smallest_.Wants(key, slot) && !Excluded(slot)) smallest_.Add(key, slot);
  }
  for (const auto& [key, slot] : smallest_.Sort()) Emit(slot, ArrivalKeyAt(now + key));
}

// Each draw is a race at the rate of the eligible edges' weight.
void EdgePicker::WeightedWithReplacement(const Row& row, CounterRng& rng) {
  const size_t first = num_slots_;
  const double total = source_.alias->total(row.index);
  uint64_t patience = 16 + 2 * fanout_;
  double now = 0;
  while (num_slots_ - first < fanout_ && patience > 0) {
    if (with_arrivals_) now += Exponential(rng.Next()) / total;
    const uint64_t slot = row.begin + DrawWeighted(row, rng);
    if (Excluded(slot)) {
      patience--;
      continue;
    }
    Emit(slot, ArrivalKeyAt(now));
    now = 0;
  }
  if (num_slots_ - first < fanout_) WeightedFromEligible(row, rng, first, now);
}

// Most of the row's weight is excluded: draws from the sums of what is left.
void EdgePicker::WeightedFromEligible(const Row& row, CounterRng& rng, size_t first, double now) {
  eligible_.clear();
  sums_.clear();
  double sum = 0;
  for (uint64_t slot = row.begin; slot < row.begin + row.degree; slot++) {
    const double weight = source_.alias->weight(slot);
    if (weight == 0 || Excluded(slot)) continue;
    eligible_.push_back(slot);
    sums_.push_back(sum += weight);
  }
  if (eligible_.empty()) return;
  for (; num_slots_ - first < fanout_; now = 0) {
    now += Exponential(rng.Next()) / sum;
    const double at = static_cast<double>(rng.Next() >> 11) * 0x1p-53 * sum;
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin();
    Emit(eligible_[std::min(static_cast<size_t>(found), eligible_.size() - 1)], ArrivalKeyAt(now));
  }
}

}  // namespace graphd
