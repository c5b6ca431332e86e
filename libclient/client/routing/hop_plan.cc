// SPDX-License-Identifier: Apache-2.0
#include "client/routing/hop_plan.h"

#include <algorithm>
#include <array>

#include "client/routing/graph_access.h"
#include "sampling/rule_traits.h"
#include "sampling/sample_key.h"

namespace graphd {
namespace {

bool IsIn(const SamplingRule& rule) { return rule.direction == Direction::kIn; }

template <class T>
std::span<const T> Select(std::span<const T> all, std::span<const int64_t> positions,
                          std::vector<T>& selected) {
  if (all.empty()) return {};
  selected.resize(positions.size());
  for (size_t i = 0; i < positions.size(); i++) selected[i] = all[Index(positions[i])];
  return selected;
}

// Returns the key of a rule's random numbers on one partition. The in-edges of a seed are in one
// partition, but its out-edges may be in several, whose arrival keys must be independent of one
// another, so that the key for out-edges depends on the partition, except with LABOR, whose random
// numbers belong to the neighbours, whatever edge leads to them.
uint64_t KeyOf(const Schema& schema, const SamplingRule& rule, const HopOptions& options,
               PartId part) {
  const bool labor = rule.method == SamplingMethod::kLabor;
  const uint64_t key = labor ? SampleKey(options.seed, options.layer, NeighborType(schema, rule))
                             : SampleKey(options.seed, options.layer, rule.etype);
  if (IsIn(rule)) return key;
  return PartKey(rule.method, CombineKeys(key, 1), static_cast<uint32_t>(part));
}

// The seed lists of the request to one partition, made when first needed. A list has times of one
// kind only: if the seeds of a type have integer and floating-point times, there is a list for each
// kind.
class SeedLists {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  SeedLists(const HopCall& call, const AccessScratch& scratch, PartId part, PartitionHop& hop,
            size_t num_ntypes)
      : call_(call),
        splits_(scratch.splits),
        part_(Index(part)),
        hop_(hop),
        lists_(num_ntypes, {kNone, kNone, kNone, kNone}) {
    for (auto* columns : {&hop.streams, &hop.times}) columns->resize(num_ntypes);
    hop.real_times.resize(num_ntypes);
  }

  // Returns the index of the list of a type's seeds: those that the partition owns (`own`), or all
  // of them. Returns kNone if there are no such seeds.
  size_t Find(NodeTypeId t, bool own, bool real) {
    const OwnerSplit::Part& part = splits_[Index(t)].parts[part_];
    HopSeeds seeds = call_.seeds_of(t);
    const bool both = !seeds.times.empty() && !seeds.real_times.empty();
    if (both && real) seeds.times = {};
    if (both && !real) seeds.real_times = {};
    size_t& list = lists_[Index(t)][(own ? 2 : 0) + (both && real ? 1 : 0)];
    if (list != kNone || (own ? part.ids.empty() : seeds.ids.empty())) return list;
    list = hop_.request.seeds.size();
    if (own) {
      seeds = {part.ids, Select(seeds.streams, part.positions, hop_.streams[Index(t)]),
               Select(seeds.times, part.positions, hop_.times[Index(t)]),
               Select(seeds.real_times, part.positions, hop_.real_times[Index(t)])};
    }
    hop_.request.seeds.push_back({t, seeds});
    return list;
  }
  // Returns the index of a list of the type's seeds that the partition owns, with times of either
  // kind.
  size_t FindOwn(NodeTypeId t) {
    const bool real = lists_[Index(t)][2] == kNone && lists_[Index(t)][3] != kNone;
    return Find(t, true, real);
  }

 private:
  const HopCall& call_;
  const std::vector<OwnerSplit>& splits_;
  size_t part_;
  PartitionHop& hop_;
  std::vector<std::array<size_t, 4>> lists_;  // [ntype][own, real times]
};

}  // namespace

HopPlan::HopPlan(GraphAccess& access, const HopCall& call, AccessScratch& scratch)
    : access_(access), call_(call), scratch_(scratch) {
  SplitSeeds();
  SplitExcluded();
}

void HopPlan::SplitSeeds() {
  const Schema& schema = access_.meta().schema;
  const auto num_ntypes = Index(schema.num_ntypes());
  scratch_.splits.resize(std::max(scratch_.splits.size(), num_ntypes + 1));
  scratch_.hops.resize(Index(access_.num_parts()));
  for (PartitionHop& hop : scratch_.hops) hop.exclude.assign(Index(schema.num_etypes()), {});
  for (size_t t = 0; t < num_ntypes; t++) {
    const auto type = static_cast<NodeTypeId>(t);
    scratch_.splits[t].Assign({access_.meta().book.nodes(), type}, call_.seeds_of(type).ids,
                              "seed");
  }
}

void HopPlan::SplitExcluded() {
  OwnerSplit& edges = scratch_.splits[Index(access_.meta().schema.num_ntypes())];
  for (size_t e = 0; e < call_.options.exclude.size(); e++) {
    const auto type = static_cast<EdgeTypeId>(e);
    const auto wanted = [type](const SamplingRule& rule) { return rule.etype == type; };
    if (std::none_of(call_.rules.begin(), call_.rules.end(), wanted)) continue;
    edges.Assign({access_.meta().book.edges(), type}, call_.options.exclude[e], "excluded edge");
    for (size_t p = 0; p < scratch_.hops.size(); p++) {
      auto& exclude = scratch_.hops[p].exclude[e];
      exclude = edges.parts[p].ids;
      std::sort(exclude.begin(), exclude.end());
      exclude.erase(std::unique(exclude.begin(), exclude.end()), exclude.end());
    }
  }
}

void HopPlan::Prepare(PartId p) {
  const Schema& schema = access_.meta().schema;
  PartitionHop& hop = scratch_.hops[Index(p)];
  hop.request.Clear();
  hop.answer.Clear();
  hop.places.resize(call_.rows.size());
  if (access_.shared_rows() != nullptr) hop.missing.resize(call_.rows.size());
  for (MissingRows& missing : hop.missing) missing.Clear();
  hop.samples.resize(call_.rules.size());
  SeedLists lists(call_, scratch_, p, hop, Index(schema.num_ntypes()));
  for (size_t i = 0; i < call_.rules.size(); i++) {
    const SamplingRule& rule = call_.rules[i];
    hop.samples[i].counts.clear();
    hop.samples[i].neighbors.clear();
    if (rule.fanout == 0 || access_.meta().book.edges().count_in(p, rule.etype) == 0) {
      // No edge can be found; a partition without edges of the type may not even have the column.
      AnswerWithoutEdges(p, rule, hop.samples[i]);
      continue;
    }
    const bool real = TakesRealTimes(schema, rule, access_.features(rule.etype));
    const size_t list = lists.Find(SeedType(schema, rule), IsIn(rule), real);
    if (list == SeedLists::kNone) continue;
    hop.request.rules.push_back({rule, list, KeyOf(schema, rule, call_.options, p),
                                 call_.options.edge_ids, hop.exclude[Index(rule.etype)]});
    hop.answer.samples.push_back(&hop.samples[i]);
  }
  for (size_t i = 0; i < call_.rows.size(); i++) {
    const HopRows& rows = call_.rows[i];
    const auto& positions = scratch_.splits[Index(rows.ntype)].parts[Index(p)].positions;
    const auto first =
        std::lower_bound(positions.begin(), positions.end(), static_cast<int64_t>(rows.begin));
    if (first == positions.end()) continue;
    hop.places[i].assign(first, positions.end());
    for (int64_t& place : hop.places[i]) place -= static_cast<int64_t>(rows.begin);
    const FeatureRef feature(rows.ntype, rows.name);
    const size_t row_bytes = RowBytesOf(access_.feature(feature));
    const size_t begin = Index(first - positions.begin());
    if (access_.shared_rows() != nullptr) {
      const auto ids = std::span(scratch_.splits[Index(rows.ntype)].parts[Index(p)].ids);
      MissingRows& missing = hop.missing[i];
      if (access_.ReadShared(p, feature, {ids.subspan(begin), hop.places[i], rows.out, row_bytes},
                             missing)) {
        if (missing.ids.empty()) continue;
        // The ids of missing rows are a list of their own, to which no rule is applied.
        hop.request.rows.push_back({hop.request.seeds.size(), 0, rows.name});
        hop.request.seeds.push_back({rows.ntype, {missing.ids, {}, {}, {}}});
        hop.answer.rows.push_back({missing.positions, rows.out, row_bytes});
        continue;
      }
    }
    hop.request.rows.push_back({lists.FindOwn(rows.ntype), begin, rows.name});
    hop.answer.rows.push_back({hop.places[i], rows.out, row_bytes});
  }
}

void HopPlan::FinishShared() {
  if (access_.shared_rows() == nullptr) return;
  std::vector<GraphAccess::SharedRead> reads;
  for (PartId p = 0; p < access_.num_parts(); p++) {
    if (access_.is_mapped(p)) continue;
    for (size_t i = 0; i < call_.rows.size(); i++) {
      const HopRows& rows = call_.rows[i];
      reads.push_back({p, {rows.ntype, rows.name}, &scratch_.hops[Index(p)].missing[i], rows.out});
    }
  }
  access_.FinishShared(reads);
}

void HopPlan::AnswerWithoutEdges(PartId p, const SamplingRule& rule,
                                 SampledEdges<int64_t>& sample) const {
  const NodeTypeId t = SeedType(access_.meta().schema, rule);
  sample.edge_ids.clear();
  sample.arrival_keys.clear();
  sample.counts.assign(IsIn(rule) ? scratch_.splits[Index(t)].parts[Index(p)].ids.size()
                                  : call_.seeds_of(t).ids.size(),
                       0);
}

}  // namespace graphd
