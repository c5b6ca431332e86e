// SPDX-License-Identifier: Apache-2.0
// Top-k and most recent, and LABOR: no random numbers of the row's own.
#include <algorithm>

#include "sampling/edge_picker.h"

namespace graphd {

// First position whose value equals that of the one before `end`: by doubling steps, since most
// values are rare and some are very common.
uint64_t EdgePicker::FirstEqual(uint64_t begin, uint64_t end) const noexcept {
  const OrderIndex& order = *source_.order;
  const uint64_t key = order.SortKey(begin + end - 1);
  uint64_t high = end - 1;  // has the value
  uint64_t low = high;      // positions below may not
  for (uint64_t step = 1; low > 0; step *= 2) {
    low = low > step ? low - step : 0;
    if (order.SortKey(begin + low) != key) break;
    high = low;
  }
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (order.SortKey(begin + middle) == key) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

void EdgePicker::Ordered(const Row& row, bool largest) {
  const OrderIndex& order = *source_.order;
  uint64_t wanted = std::min(fanout_, row.degree);
  const auto take = [&](uint64_t at, uint64_t end) {
    for (; at < end && wanted > 0; at++) {
      const uint64_t slot = row.begin + order.relative(row.begin + at);
      if (Excluded(slot)) continue;
      const uint64_t key = with_arrivals_ ? order.SortKey(row.begin + at) : 0;
      Emit(slot, largest ? ~key : key);
      wanted--;
    }
  };
  if (!largest) return take(0, row.degree);
  // From the top, value by value; within one the lower edge rows come first.
  for (uint64_t end = row.degree; end > 0 && wanted > 0;) {
    const uint64_t begin = FirstEqual(row.begin, end);
    take(begin, end);
    end = begin;
  }
}

void EdgePicker::Labor(const Row& row) {
  const AliasIndex* alias = source_.alias;
  const bool all = take_all_ || (!with_arrivals_ && row.degree <= fanout_);
  smallest_.Start(all ? 0 : fanout_);
  source_.csc->indices.Visit([&](auto neighbors) {
    for (uint64_t slot = row.begin; slot < row.begin + row.degree; slot++) {
      const double weight = alias ? alias->weight(slot) : 1;
      if (weight == 0) continue;
      if (all) {
        if (!Excluded(slot)) Emit(slot, ArrivalKeyAt(0));
        continue;
      }
      const uint64_t bits = CombineKeys(key_, neighbors[slot]);
      double key = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
      if (alias) key /= weight;
      if (smallest_.Wants(key, slot) && !Excluded(slot)) smallest_.Add(key, slot);
    }
  });
  for (const auto& [key, slot] : smallest_.Sort()) Emit(slot, ArrivalKeyAt(key));
}

}  // namespace graphd
