// SPDX-License-Identifier: Apache-2.0
#include "sampling/uniform_kernel.h"

namespace graphd {
namespace {

// An arbitrary number, which gives UniformAgain other random numbers than the first try had.
constexpr uint64_t kAgain = 0x7265747279ULL;

// Draws edges without replacement in order of arrival. All edges arrive at rate 1; excluded ones
// are skipped when they arrive. While `left` edges have not arrived, the time until the next
// arrival is exponential with rate `left`, and each of these edges is equally likely to be the next
// one.
void UniformArrivals(SamplingContext& c, const SourceRow& row, CounterRng& rng) {
  double now = 0;
  uint64_t left = row.degree, wanted = c.fanout;
  const auto arrive = [&](uint64_t position) {
    now += Exponential(rng.Next()) / static_cast<double>(left--);
    const uint64_t slot = c.SlotAt(row, position);
    if (c.Excluded(slot)) return;
    c.Emit(slot, ArrivalKeyAt(now));
    wanted--;
  };
  c.distinct.Start(row.degree, c.fanout);
  if (row.degree > 2 * c.fanout) {
    while (wanted > 0 && left > row.degree / 2) {
      const uint64_t position = rng.Below(row.degree);
      if (c.distinct.Insert(position)) arrive(position);
    }
  }
  if (wanted > 0) {
    // Many of the row's edges are needed, so the edges that have not been drawn yet are shuffled.
    c.eligible.clear();
    for (uint64_t position = 0; position < row.degree; position++) {
      if (!c.distinct.Contains(position)) c.eligible.push_back(position);
    }
    while (wanted > 0 && left > 0) {
      std::swap(c.eligible[rng.Below(left)], c.eligible[left - 1]);
      arrive(c.eligible[left - 1]);
    }
  }
  c.distinct.Finish();
}

// Draws edges with replacement. The arrival time of each draw is exponential, and its rate is the
// number of eligible edges. To this end, edges arrive at rate `degree`, and excluded ones are
// skipped. If too many are skipped, the eligible edges are listed, and the other draws are made
// from the list.
void UniformTimedDraws(SamplingContext& c, const SourceRow& row, CounterRng& rng) {
  const size_t first = c.num_slots;
  uint64_t patience = 16 + 2 * c.fanout;
  double now = 0;
  while (c.num_slots - first < c.fanout && patience > 0) {
    now += Exponential(rng.Next()) / static_cast<double>(row.degree);
    const uint64_t slot = c.SlotAt(row, rng.Below(row.degree));
    if (c.Excluded(slot)) {
      patience--;
      continue;
    }
    c.Emit(slot, ArrivalKeyAt(now));
    now = 0;
  }
  if (c.num_slots - first == c.fanout) return;
  c.ListEligible(row);
  if (c.eligible.empty()) return;
  for (; c.num_slots - first < c.fanout; now = 0) {
    now += Exponential(rng.Next()) / static_cast<double>(c.eligible.size());
    c.Emit(c.eligible[rng.Below(c.eligible.size())], ArrivalKeyAt(now));
  }
}

void UniformByArrival(SamplingContext& c, const SourceRow& row, CounterRng& rng) {
  return c.replace ? UniformTimedDraws(c, row, rng) : UniformArrivals(c, row, rng);
}

// Samples a row again after an excluded edge was drawn. The second try must not depend on the
// first, or sets that avoid excluded edges by luck would be favoured: if it has drawn no excluded
// edge, the first try is uniform among the eligible edges, and the second try always is.
void UniformAgain(SamplingContext& c, const SourceRow& row) {
  CounterRng rng(CombineKeys(CombineKeys(c.key, row.stream), kAgain));
  UniformByArrival(c, row, rng);
}

}  // namespace

void SampleUniform(SamplingContext& c, const SourceRow& row) {
  const size_t first = c.num_slots;
  CounterRng rng = c.Rng(row);
  if (c.take_all || (!c.replace && !c.with_arrivals && row.degree <= c.fanout)) {
    for (uint64_t position = 0; position < row.degree; position++) {
      const uint64_t slot = c.SlotAt(row, position);
      if (!c.Excluded(slot)) c.Emit(slot, ArrivalKeyAt(0));
    }
    return;
  }
  if (c.with_arrivals) return UniformByArrival(c, row, rng);
  if (c.replace) {
    for (uint64_t k = 0; k < c.fanout; k++) c.Emit(c.SlotAt(row, rng.Below(row.degree)));
  } else {
    uint64_t* drawn = c.slots.data() + c.num_slots;
    c.distinct.Floyd(rng, row.degree, c.fanout, drawn);
    for (uint64_t k = 0; k < c.fanout; k++) drawn[k] = c.SlotAt(row, drawn[k]);
    c.num_slots += c.fanout;
  }
  if (!c.source.exclude) return;
  for (size_t i = first; i < c.num_slots; i++) {
    if (c.Excluded(c.slots[i])) {
      c.num_slots = first;
      return UniformAgain(c, row);
    }
  }
}

}  // namespace graphd
