// SPDX-License-Identifier: Apache-2.0
#include "sampling/hop_sampler.h"

#include "sampling/rule_traits.h"
#include "sampling/slots.h"

namespace graphd {

template <class Id>
void HopSampler::Run(const Partition& partition, EdgeIndexes& indexes, const AppliedRule& applied,
                     const HopSeeds& seeds, SampledEdges<Id>& out, const Admit& admit) {
  const SamplingRule& rule = applied.rule;
  const bool outward = rule.direction == Direction::kOut;
  const std::shared_ptr<const Csc> selected = indexes.Rows(rule.etype, outward);
  const Csc& csc = *selected;
  const PartitionBook& book = partition.meta().book;
  rows_.resize(seeds.ids.size());
  if (outward) {
    indexes.Out(rule.etype)->RowsOf(seeds.ids, rows_);
  } else {
    const IdMap& nodes = book.nodes();
    const NodeTypeId type = SeedType(partition.meta().schema, rule);
    if (nodes.is_range()) {
      const int64_t first = nodes.type_begin(partition.id(), type);
      for (size_t i = 0; i < rows_.size(); i++) rows_[i] = seeds.ids[i] - first;
    } else {
      for (size_t i = 0; i < rows_.size(); i++) rows_[i] = nodes.LocalRow(type, seeds.ids[i]);
    }
  }
  const auto streams = seeds.streams.empty() ? seeds.ids : seeds.streams;
  if (admit) admit(MaxSampledEdges(csc, rows_, rule));
  out.edge_ids.clear();
  out.arrival_keys.clear();
  if (!outward && rule.method == SamplingMethod::kUniform && applied.exclude.empty()) {
    // The fast path: neighbours are written while edges are chosen.
    out.counts.resize(rows_.size());
    const size_t total = uniform_.Plan(csc, rows_, streams, rule, applied.key, out.counts);
    out.neighbors.resize(total);
    out.edge_ids.resize(applied.edge_ids ? total : 0);
    // Edge ids are non-negative, so their int64 and uint64 forms are the same bytes.
    auto* positions = reinterpret_cast<uint64_t*>(out.edge_ids.data());
    uniform_.Sample(out.neighbors.data(), applied.edge_ids ? positions : nullptr);
    if (applied.edge_ids) PositionsToEdgeIds(partition, rule.etype, {positions, total});
    return;
  }
  EdgeSource source;
  source.csc = &csc;
  std::shared_ptr<const OrderIndex> order;
  std::shared_ptr<const AliasIndex> alias;
  if (!rule.column.empty()) {
    if (rule.method == SamplingMethod::kTopK || IsTemporal(rule.method)) {
      order = indexes.Order(rule.etype, outward, rule.column);
      source.order = order.get();
    } else {
      alias = indexes.Alias(rule.etype, outward, rule.column);
      source.alias = alias.get();
    }
  }
  if (!applied.exclude.empty()) {
    exclude_rows_.resize(applied.exclude.size());
    for (size_t i = 0; i < applied.exclude.size(); i++) {
      exclude_rows_[i] = book.edges().LocalRow(rule.etype, applied.exclude[i]);
    }
    excluded_.Assign(exclude_rows_);
    source.exclude = &excluded_;
  }
  SeedTimes times;
  if (IsTemporal(rule.method)) {
    const bool real =
        TakesRealTimes(partition.meta().schema, rule, partition.edge_features(rule.etype));
    times = real ? SeedTimes(seeds.real_times) : SeedTimes(seeds.times);
  }
  const size_t total = edge_sampler_.Sample(source, rows_, streams, rule, applied.key, times);
  out.counts.assign(edge_sampler_.counts().begin(), edge_sampler_.counts().end());
  out.neighbors.resize(total);
  WriteNeighbors(csc, edge_sampler_.slots(), out.neighbors.data());
  out.arrival_keys.assign(edge_sampler_.arrival_keys().begin(), edge_sampler_.arrival_keys().end());
  if (!applied.edge_ids) return;
  out.edge_ids.resize(total);
  WriteEdgeIds(partition, rule.etype, csc, edge_sampler_.slots(), out.edge_ids.data());
}

template void HopSampler::Run(const Partition&, EdgeIndexes&, const AppliedRule&, const HopSeeds&,
                              SampledEdges<uint32_t>&, const Admit&);
template void HopSampler::Run(const Partition&, EdgeIndexes&, const AppliedRule&, const HopSeeds&,
                              SampledEdges<uint64_t>&, const Admit&);
template void HopSampler::Run(const Partition&, EdgeIndexes&, const AppliedRule&, const HopSeeds&,
                              SampledEdges<int64_t>&, const Admit&);

}  // namespace graphd
