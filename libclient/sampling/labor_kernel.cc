// SPDX-License-Identifier: Apache-2.0
#include "sampling/labor_kernel.h"

namespace graphd {

void SampleLabor(SamplingContext& c, const SourceRow& row) {
  const AliasIndex* alias = c.source.alias;
  const bool all = c.take_all || (!c.with_arrivals && row.degree <= c.fanout);
  c.smallest.Start(all ? 0 : c.fanout);
  c.source.csc->indices.Visit([&](auto neighbors) {
    for (uint64_t slot = row.begin; slot < row.begin + row.degree; slot++) {
      const double weight = alias ? alias->weight(slot) : 1;
      if (weight == 0) continue;
      if (all) {
        if (!c.Excluded(slot)) c.Emit(slot, ArrivalKeyAt(0));
        continue;
      }
      const uint64_t bits = CombineKeys(c.key, neighbors[slot]);
      double key = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
      if (alias) key /= weight;
      if (c.smallest.Wants(key, slot) && !c.Excluded(slot)) c.smallest.Add(key, slot);
    }
  });
  for (const auto& [key, slot] : c.smallest.Sort()) c.Emit(slot, ArrivalKeyAt(key));
}

}  // namespace graphd
