// SPDX-License-Identifier: Apache-2.0
#include "sampling/weighted_kernel.h"

#include <algorithm>

namespace graphd {
namespace {

uint64_t DrawWeighted(const SamplingContext& c, const SourceRow& row, CounterRng& rng) noexcept {
  uint64_t position = row.degree;
  while (position == row.degree) {
    position = c.source.alias->Draw(row.begin, row.degree, rng.Next());
  }
  return position;
}

void WeightedByKeys(SamplingContext& c, const SourceRow& row, CounterRng& rng, uint64_t wanted,
                    double now) {
  c.smallest.Start(wanted);
  for (uint64_t position = 0; position < row.degree; position++) {
    const uint64_t slot = row.begin + position;
    const double weight = c.source.alias->weight(slot);
    if (weight == 0 || c.distinct.Contains(position)) continue;
    const double key = Exponential(rng.Next()) / weight;
    if (c.smallest.Wants(key, slot) && !c.Excluded(slot)) c.smallest.Add(key, slot);
  }
  for (const auto& [key, slot] : c.smallest.Sort()) c.Emit(slot, ArrivalKeyAt(now + key));
}

// Makes successive draws, and skips draws of edges that were drawn before. After too many draws,
// each edge that was not drawn gets an exponential key, and the edges with the smallest keys
// complete the sample. The distribution is exactly the same as with successive draws only, because
// the remaining time of an edge that has not arrived does not depend on the time that has passed
// (P. Efraimidis and P. Spirakis, "Weighted random sampling with a reservoir", 2006).
void WeightedWithoutReplacement(SamplingContext& c, const SourceRow& row, CounterRng& rng) {
  double now = 0;
  const double total = c.source.alias->total(row.index);
  uint64_t wanted = c.fanout;
  c.distinct.Start(row.degree, c.fanout);
  if (row.degree > 2 * c.fanout) {
    for (uint64_t budget = 16 + 4 * c.fanout; budget > 0 && wanted > 0; budget--) {
      if (c.with_arrivals) now += Exponential(rng.Next()) / total;
      const uint64_t position = DrawWeighted(c, row, rng);
      if (!c.distinct.Insert(position) || c.Excluded(row.begin + position)) continue;
      c.Emit(row.begin + position, ArrivalKeyAt(now));
      wanted--;
    }
  }
  if (wanted > 0) WeightedByKeys(c, row, rng, wanted, now);
  c.distinct.Finish();
}

// Completes a sample with replacement when most of the row's weight is excluded. Lists the eligible
// edges with the cumulative sums of their weights, and draws from this list.
void WeightedFromEligible(SamplingContext& c, const SourceRow& row, CounterRng& rng, size_t first,
                          double now) {
  c.eligible.clear();
  c.sums.clear();
  double sum = 0;
  for (uint64_t slot = row.begin; slot < row.begin + row.degree; slot++) {
    const double weight = c.source.alias->weight(slot);
    if (weight == 0 || c.Excluded(slot)) continue;
    c.eligible.push_back(slot);
    c.sums.push_back(sum += weight);
  }
  if (c.eligible.empty()) return;
  for (; c.num_slots - first < c.fanout; now = 0) {
    now += Exponential(rng.Next()) / sum;
    const double at = static_cast<double>(rng.Next() >> 11) * 0x1p-53 * sum;
    const auto found = std::upper_bound(c.sums.begin(), c.sums.end(), at) - c.sums.begin();
    c.Emit(c.eligible[std::min(static_cast<size_t>(found), c.eligible.size() - 1)],
           ArrivalKeyAt(now));
  }
}

// Draws with replacement. The arrival time of each draw is exponential, and its rate is the sum of
// the weights of the eligible edges.
void WeightedWithReplacement(SamplingContext& c, const SourceRow& row, CounterRng& rng) {
  const size_t first = c.num_slots;
  const double total = c.source.alias->total(row.index);
  uint64_t patience = 16 + 2 * c.fanout;
  double now = 0;
  while (c.num_slots - first < c.fanout && patience > 0) {
    if (c.with_arrivals) now += Exponential(rng.Next()) / total;
    const uint64_t slot = row.begin + DrawWeighted(c, row, rng);
    if (c.Excluded(slot)) {
      patience--;
      continue;
    }
    c.Emit(slot, ArrivalKeyAt(now));
    now = 0;
  }
  if (c.num_slots - first < c.fanout) WeightedFromEligible(c, row, rng, first, now);
}

}  // namespace

void SampleWeighted(SamplingContext& c, const SourceRow& row) {
  const AliasIndex& alias = *c.source.alias;
  const uint32_t positive = alias.positive(row.index);
  if (positive == 0) return;
  if (c.take_all || (!c.replace && !c.with_arrivals && positive <= c.fanout)) {
    for (uint64_t slot = row.begin; slot < row.begin + row.degree; slot++) {
      if (alias.weight(slot) > 0 && !c.Excluded(slot)) c.Emit(slot, ArrivalKeyAt(0));
    }
    return;
  }
  CounterRng rng = c.Rng(row);
  return c.replace ? WeightedWithReplacement(c, row, rng) : WeightedWithoutReplacement(c, row, rng);
}

// Prefetches the weights if the whole row will be read. Otherwise prefetches the cells of the alias
// index that the first draws will read, which the row's random numbers determine.
void PrefetchWeighted(const SamplingContext& c, const SourceRow& row) noexcept {
  // Without this statement, GCC takes this function for one without effect, because it only
  // prefetches, and removes calls to it.
  asm volatile("");
  if (!c.replace && row.degree / 2 <= c.fanout) return c.source.alias->PrefetchWeight(row.begin);
  CounterRng rng = c.Rng(row);
  const uint64_t draws = std::min<uint64_t>(c.fanout, 64);
  for (uint64_t k = 0; k < draws; k++) {
    if (c.with_arrivals) rng.Next();
    c.source.alias->Prefetch(row.begin + ((rng.Next() >> 32) * row.degree >> 32));
  }
}

}  // namespace graphd
