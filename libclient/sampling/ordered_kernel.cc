// SPDX-License-Identifier: Apache-2.0
#include "sampling/ordered_kernel.h"

#include <algorithm>

namespace graphd {
namespace {

// Returns the first position whose edge has the same value as the edge at position end - 1. The
// positions of a row are in the order of values. Searches backwards in steps that double, because
// most values are rare and some are very common.
uint64_t FirstEqual(const OrderIndex& order, uint64_t begin, uint64_t end) noexcept {
  const uint64_t key = order.SortKey(begin + end - 1);
  uint64_t high = end - 1;  // the edge at this position has the value
  uint64_t low = high;      // edges below this position may have another value
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

}  // namespace

void SampleOrdered(SamplingContext& c, const SourceRow& row, bool largest) {
  const OrderIndex& order = *c.source.order;
  uint64_t wanted = std::min(c.fanout, row.degree);
  const auto take = [&](uint64_t at, uint64_t end) {
    for (; at < end && wanted > 0; at++) {
      const uint64_t slot = row.begin + order.relative(row.begin + at);
      if (c.Excluded(slot)) continue;
      const uint64_t key = c.with_arrivals ? order.SortKey(row.begin + at) : 0;
      c.Emit(slot, largest ? ~key : key);
      wanted--;
    }
  };
  if (!largest) return take(0, row.degree);
  // The largest values are taken first. Among edges with the same value, the one with the lowest
  // edge row is taken first.
  for (uint64_t end = row.degree; end > 0 && wanted > 0;) {
    const uint64_t begin = FirstEqual(order, row.begin, end);
    take(begin, end);
    end = begin;
  }
}

}  // namespace graphd
