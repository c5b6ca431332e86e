// SPDX-License-Identifier: Apache-2.0
// One hop over all partitions: split by owner, asked in parallel, put together in the call's order.
#include <algorithm>
#include <array>
#include <climits>
#include <numeric>

#include "base/index.h"
#include "base/strings.h"
#include "client/routing/graph_access.h"
#include "sampling/gather.h"
#include "sampling/rule_traits.h"
#include "sampling/sample_key.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

// Rows beyond this go over the connection for rows, in pieces that overlap.
constexpr size_t kRowBytesWithHop = size_t{4} << 20;
// What a message's answer is planned to stay below, and how many seeds are asked for at once when
// nothing bounds their degrees.
constexpr size_t kPlannedAnswerBytes = size_t{128} << 20;
constexpr size_t kSeedsOfUnknownDegree = size_t{1} << 15;
constexpr size_t kSeedsPerMessage = size_t{1} << 20;

bool IsIn(const SamplingRule& rule) { return rule.direction == Direction::kIn; }

template <class T>
std::span<const T> Select(std::span<const T> all, std::span<const int64_t> positions,
                          std::vector<T>& selected) {
  if (all.empty()) return {};
  selected.resize(positions.size());
  for (size_t i = 0; i < positions.size(); i++) selected[i] = all[Index(positions[i])];
  return selected;
}

template <class T>
std::span<const T> Part(std::span<const T> all, size_t begin, size_t count) {
  return all.empty() ? all : all.subspan(begin, count);
}

void Append(Neighbors& to, Neighbors&& from) {
  if (to.indptr.empty()) {
    to = std::move(from);
    return;
  }
  const int64_t base = to.indptr.back();
  for (size_t i = 1; i < from.indptr.size(); i++) to.indptr.push_back(base + from.indptr[i]);
  to.neighbors.insert(to.neighbors.end(), from.neighbors.begin(), from.neighbors.end());
  to.edge_ids.insert(to.edge_ids.end(), from.edge_ids.begin(), from.edge_ids.end());
}

// Returns the random key of a rule on one partition. One partition has the in-edges of a seed, but
// several may have out-edges, and their arrival keys must be independent. LABOR's random numbers
// belong to the neighbours, whatever edge leads to them.
uint64_t KeyOf(const Schema& schema, const SamplingRule& rule, const HopOptions& options,
               PartId part) {
  const bool labor = rule.method == SamplingMethod::kLabor;
  const int32_t type = labor ? NeighborType(schema, rule) : rule.etype;
  const uint64_t key = SampleKey(options.seed, options.layer, type);
  if (IsIn(rule)) return key;
  return PartKey(rule.method, CombineKeys(key, 1), static_cast<uint32_t>(part));
}

void CheckLength(size_t got, size_t seeds, const char* what, const std::string& ntype) {
  if (got != 0 && got != seeds) {
    Throw(ErrorCode::kInvalid, got, " ", what, " for ", seeds, " seeds of node type '", ntype, "'");
  }
}

}  // namespace

struct GraphAccess::HopCall {
  std::span<const HopSeeds> seeds;
  std::span<const SamplingRule> rules;
  const HopOptions& options;
  std::span<const HopRows> rows;

  const HopSeeds& seeds_of(NodeTypeId t) const {
    static constexpr HopSeeds kNone{};
    return Index(t) < seeds.size() ? seeds[Index(t)] : kNone;
  }
};

void GraphAccess::CheckEtype(EdgeTypeId etype) const {
  if (etype >= 0 && etype < meta_->schema.num_etypes()) return;
  Throw(ErrorCode::kInvalid, "edge type ", etype, " is outside 0..",
        meta_->schema.num_etypes() - 1);
}

void GraphAccess::CheckHop(std::span<const HopSeeds> seeds, std::span<const SamplingRule> rules,
                           const HopOptions& options) const {
  const Schema& schema = meta_->schema;
  if (seeds.size() > Index(schema.num_ntypes())) {
    Throw(ErrorCode::kInvalid, "seeds of ", seeds.size(), " node types, the graph has ",
          schema.num_ntypes());
  }
  for (size_t t = 0; t < seeds.size(); t++) {
    const std::string& name = schema.ntype(static_cast<NodeTypeId>(t));
    const size_t count = seeds[t].ids.size();
    CheckLength(seeds[t].streams.size(), count, "streams", name);
    CheckLength(seeds[t].times.size(), count, "times", name);
    CheckLength(seeds[t].real_times.size(), count, "times", name);
    for (int64_t stream : seeds[t].streams) {
      if (stream >= 0 && stream <= int64_t{UINT32_MAX}) continue;
      Throw(ErrorCode::kInvalid, "stream ", stream, " is outside 0..", UINT32_MAX);
    }
  }
  for (const SamplingRule& rule : rules) {
    CheckEtype(rule.etype);
    const std::vector<FeatureInfo>& features = edge_features_[Index(rule.etype)];
    CheckSamplingRule(schema, rule, features);
    if (!IsTemporal(rule.method)) continue;
    const NodeTypeId t = SeedType(schema, rule);
    if (Index(t) >= seeds.size() || seeds[Index(t)].ids.empty()) continue;
    const bool real = TakesRealTimes(schema, rule, features);
    if (real ? seeds[Index(t)].real_times.empty() : seeds[Index(t)].times.empty()) {
      Throw(ErrorCode::kInvalid, "the seeds of node type '", schema.ntype(t), "' have no times; '",
            rule.column, "' takes ", real ? "floating-point" : "whole", " ones");
    }
  }
  if (options.exclude.size() > Index(schema.num_etypes())) {
    Throw(ErrorCode::kInvalid, "excluded edges of ", options.exclude.size(),
          " edge types, the graph has ", schema.num_etypes());
  }
}

// Which types are split by owner, and the edges that are excluded.
void GraphAccess::SplitHop(const HopCall& call, AccessScratch& scratch) const {
  const Schema& schema = meta_->schema;
  const auto num_ntypes = Index(schema.num_ntypes());
  scratch.splits.resize(std::max(scratch.splits.size(), num_ntypes + 1));
  scratch.hop_parts.resize(mapped_.size());
  for (auto& part : scratch.hop_parts) part.exclude.assign(Index(schema.num_etypes()), {});
  for (size_t t = 0; t < num_ntypes; t++) {
    const auto type = static_cast<NodeTypeId>(t);
    scratch.splits[t].Assign(meta_->book.nodes(), type, call.seeds_of(type).ids, "seed");
  }
  OwnerSplit& edges = scratch.splits[num_ntypes];
  for (size_t e = 0; e < call.options.exclude.size(); e++) {
    const auto type = static_cast<EdgeTypeId>(e);
    const auto wanted = [type](const SamplingRule& rule) { return rule.etype == type; };
    if (std::none_of(call.rules.begin(), call.rules.end(), wanted)) continue;
    edges.Assign(meta_->book.edges(), type, call.options.exclude[e], "excluded edge");
    for (size_t p = 0; p < scratch.hop_parts.size(); p++) {
      auto& exclude = scratch.hop_parts[p].exclude[e];
      exclude = edges.parts[p].ids;
      std::sort(exclude.begin(), exclude.end());
      exclude.erase(std::unique(exclude.begin(), exclude.end()), exclude.end());
    }
  }
}

void GraphAccess::PrepareHop(const HopCall& call, PartId p, AccessScratch& scratch) const {
  const Schema& schema = meta_->schema;
  const IdMap& nodes = meta_->book.nodes();
  auto& work = scratch.hop_parts[Index(p)];
  work.request.Clear();
  work.answer.Clear();
  const auto num_ntypes = Index(schema.num_ntypes());
  for (auto* columns : {&work.streams, &work.times}) columns->resize(num_ntypes);
  work.real_times.resize(num_ntypes);
  work.places.resize(call.rows.size());
  work.answers.resize(call.rules.size());
  constexpr size_t kNone = SIZE_MAX;
  std::vector<std::array<size_t, 4>> lists(num_ntypes, {kNone, kNone, kNone, kNone});
  // The list of a type's own seeds, or of all its seeds, made when first needed. A list has times
  // of one kind: where both are given there is one for each.
  const auto list_of = [&](NodeTypeId t, bool own, bool real) {
    const OwnerSplit::Part& part = scratch.splits[Index(t)].parts[Index(p)];
    HopSeeds seeds = call.seeds_of(t);
    const bool both = !seeds.times.empty() && !seeds.real_times.empty();
    if (both && real) seeds.times = {};
    if (both && !real) seeds.real_times = {};
    size_t& list = lists[Index(t)][(own ? 2 : 0) + (both && real ? 1 : 0)];
    if (list != kNone || (own ? part.ids.empty() : seeds.ids.empty())) return list;
    list = work.request.seeds.size();
    HopSeeds nodes_of{seeds.ids, seeds.streams, seeds.times, seeds.real_times};
    if (own) {
      nodes_of = {part.ids, Select(seeds.streams, part.positions, work.streams[Index(t)]),
                  Select(seeds.times, part.positions, work.times[Index(t)]),
                  Select(seeds.real_times, part.positions, work.real_times[Index(t)])};
    }
    work.request.seeds.push_back({t, nodes_of});
    return list;
  };
  for (size_t i = 0; i < call.rules.size(); i++) {
    const SamplingRule& rule = call.rules[i];
    work.answers[i].counts.clear();
    work.answers[i].neighbors.clear();
    if (rule.fanout == 0 || meta_->book.edges().count_in(p, rule.etype) == 0) {
      // Nothing to find; a partition without edges of the type may not even have the column.
      const NodeTypeId t = SeedType(schema, rule);
      work.answers[i].edge_ids.clear();
      work.answers[i].arrival_keys.clear();
      work.answers[i].counts.assign(IsIn(rule) ? scratch.splits[Index(t)].parts[Index(p)].ids.size()
                                               : call.seeds_of(t).ids.size(),
                                    0);
      continue;
    }
    const bool real = TakesRealTimes(schema, rule, edge_features_[Index(rule.etype)]);
    const size_t list = list_of(SeedType(schema, rule), IsIn(rule), real);
    if (list == kNone) continue;
    work.request.rules.push_back({rule, list, KeyOf(schema, rule, call.options, p),
                                  call.options.edge_ids, work.exclude[Index(rule.etype)]});
    work.answer.samples.push_back(&work.answers[i]);
  }
  for (size_t i = 0; i < call.rows.size(); i++) {
    const HopRows& rows = call.rows[i];
    const auto& positions = scratch.splits[Index(rows.ntype)].parts[Index(p)].positions;
    const auto first =
        std::lower_bound(positions.begin(), positions.end(), static_cast<int64_t>(rows.begin));
    if (first == positions.end()) continue;
    work.places[i].assign(first, positions.end());
    for (int64_t& place : work.places[i]) place -= static_cast<int64_t>(rows.begin);
    const bool real = lists[Index(rows.ntype)][2] == kNone && lists[Index(rows.ntype)][3] != kNone;
    work.request.rows.push_back(
        {list_of(rows.ntype, true, real), Index(first - positions.begin()), rows.name});
    work.answer.rows.push_back(
        {work.places[i], rows.out, RowBytes(feature({false, rows.ntype, rows.name}))});
  }
}

std::vector<RpcThread::Pending> GraphAccess::StartHop(PartId p, AccessScratch::HopPart& work) {
  std::vector<RpcThread::Pending> pending;
  DaemonLink& link = *links_[Index(p)];
  HopRequest& request = work.request;
  HopAnswer& answer = work.answer;
  work.large_rows.clear();
  work.large_places.clear();
  size_t kept = 0, with_hop = 0;
  for (size_t i = 0; i < request.rows.size(); i++) {
    const size_t bytes = answer.rows[i].to.size() * answer.rows[i].row_bytes;
    if (with_hop + bytes > kRowBytesWithHop) {
      work.large_rows.push_back(std::move(request.rows[i]));
      work.large_places.push_back(answer.rows[i]);
      continue;
    }
    with_hop += bytes;
    if (kept != i) request.rows[kept] = std::move(request.rows[i]);
    answer.rows[kept++] = answer.rows[i];
  }
  request.rows.resize(kept);
  answer.rows.resize(kept);
  if (!request.empty()) pending.push_back(link.Hop(p, *meta_, request, answer));
  for (size_t i = 0; i < work.large_rows.size(); i++) {
    const SeedRows& rows = work.large_rows[i];
    const HopAnswer::Rows& place = work.large_places[i];
    const SeedList& seeds = request.seeds[rows.seeds];
    pending.push_back(
        link.Gather(p, {false, seeds.ntype, rows.name},
                    {seeds.nodes.ids.subspan(rows.begin), place.to, place.out, place.row_bytes,
                     IdBytes(meta_->book.nodes().count(seeds.ntype))}));
  }
  return pending;
}

void GraphAccess::RunHop(PartId p, AccessScratch& scratch) {
  const Partition& partition = *mapped_[Index(p)];
  const HopRequest& request = scratch.hop_parts[Index(p)].request;
  const HopAnswer& answer = scratch.hop_parts[Index(p)].answer;
  for (size_t i = 0; i < request.rules.size(); i++) {
    const AppliedRule& applied = request.rules[i];
    scratch.picker.Run(partition, *indexes_[Index(p)], applied, request.seeds[applied.seeds].nodes,
                       *answer.samples[i]);
  }
  for (size_t i = 0; i < request.rows.size(); i++) {
    const SeedRows& rows = request.rows[i];
    const SeedList& seeds = request.seeds[rows.seeds];
    LocalRows(meta_->book.nodes(), seeds.ntype, p, seeds.nodes.ids.subspan(rows.begin),
              scratch.rows);
    GatherRows(partition.node_feature(seeds.ntype, rows.name).data(), answer.rows[i].row_bytes,
               scratch.rows, answer.rows[i].to, answer.rows[i].out);
  }
}

Neighbors GraphAccess::AssembleHop(const HopCall& call, size_t i, AccessScratch& scratch) const {
  const SamplingRule& rule = call.rules[i];
  const NodeTypeId t = SeedType(meta_->schema, rule);
  const size_t num_seeds = call.seeds_of(t).ids.size();
  Neighbors out;
  out.etype = rule.etype;
  out.direction = rule.direction;
  out.indptr.assign(num_seeds + 1, 0);
  if (num_seeds == 0) return out;
  auto& parts = scratch.hop_parts;
  std::vector<size_t> answered;
  size_t total = 0;
  for (size_t p = 0; p < parts.size(); p++) {
    if (parts[p].answers[i].counts.empty()) continue;
    answered.push_back(p);
    total += parts[p].answers[i].neighbors.size();
  }
  if (answered.size() == 1) {  // in the call's order already
    auto& only = parts[answered[0]].answers[i];
    std::partial_sum(only.counts.begin(), only.counts.end(), out.indptr.begin() + 1,
                     [](int64_t sum, int64_t count) { return sum + count; });
    out.neighbors = std::move(only.neighbors);
    out.edge_ids = std::move(only.edge_ids);
    return out;
  }
  const bool edge_ids = call.options.edge_ids;
  if (!IsIn(rule)) {
    std::vector<PartArrivals> arrivals;
    for (size_t p : answered) {
      arrivals.push_back({parts[p].answers[i].counts, parts[p].answers[i].arrival_keys});
    }
    std::vector<uint32_t> counts;
    std::vector<MergedEdge> merged;
    // All edges: in the order of partitions, unless the method has an order of its own.
    const bool ordered =
        rule.method == SamplingMethod::kTopK || rule.method == SamplingMethod::kTemporalRecent;
    const int fanout = rule.fanout < 0 && ordered ? INT_MAX : rule.fanout;
    MergeByArrival(arrivals, fanout, rule.replace, counts, merged);
    for (size_t s = 0; s < num_seeds; s++) out.indptr[s + 1] = out.indptr[s] + counts[s];
    out.neighbors.reserve(merged.size());
    for (const MergedEdge& edge : merged) {
      const auto& from = parts[answered[edge.part]].answers[i];
      out.neighbors.push_back(from.neighbors[edge.position]);
      if (edge_ids) out.edge_ids.push_back(from.edge_ids[edge.position]);
    }
    return out;
  }
  struct Cursor {
    size_t seed = 0, edge = 0;
  };
  std::vector<Cursor> cursors(parts.size());
  const std::vector<PartId>& owners = scratch.splits[Index(t)].owners;
  out.neighbors.resize(total);
  out.edge_ids.resize(edge_ids ? total : 0);
  size_t at = 0;
  for (size_t s = 0; s < num_seeds; s++) {
    const auto owner = Index(owners[s]);
    const auto& from = parts[owner].answers[i];
    Cursor& cursor = cursors[owner];
    const uint32_t count = from.counts[cursor.seed++];
    const int64_t* neighbors = from.neighbors.data() + cursor.edge;
    for (uint32_t k = 0; k < count; k++) out.neighbors[at + k] = neighbors[k];
    if (edge_ids) {
      const int64_t* ids = from.edge_ids.data() + cursor.edge;
      for (uint32_t k = 0; k < count; k++) out.edge_ids[at + k] = ids[k];
    }
    cursor.edge += count;
    at += count;
    out.indptr[s + 1] = static_cast<int64_t>(at);
  }
  return out;
}

std::vector<Neighbors> GraphAccess::HopOnce(const HopCall& call) {
  Loan loan(*this);
  SplitHop(call, *loan);
  const auto num_parts = static_cast<PartId>(mapped_.size());
  Retry([&] {
    std::vector<RpcThread::Pending> pending;
    for (PartId p = 0; p < num_parts; p++) {
      PrepareHop(call, p, *loan);
      if (is_mapped(p)) continue;
      for (auto& started : StartHop(p, loan->hop_parts[Index(p)])) {
        pending.push_back(std::move(started));
      }
    }
    for (PartId p = 0; p < num_parts; p++) {
      if (is_mapped(p)) RunHop(p, *loan);
    }
    for (auto& call_under_way : pending) call_under_way.Wait();
  });
  std::vector<Neighbors> out;
  for (size_t i = 0; i < call.rules.size(); i++) out.push_back(AssembleHop(call, i, *loan));
  return out;
}

size_t GraphAccess::SeedsPerMessage(std::span<const SamplingRule> rules) const {
  if (all_mapped()) return SIZE_MAX;
  size_t bytes = 0;  // of one seed's answer
  for (const SamplingRule& rule : rules) {
    if (rule.fanout < 0) return kSeedsOfUnknownDegree;
    bytes += Index(rule.fanout) * (IsIn(rule) ? 16 : 24);
  }
  return std::clamp(kPlannedAnswerBytes / std::max<size_t>(bytes, 1), size_t{1}, kSeedsPerMessage);
}

std::vector<Neighbors> GraphAccess::Hop(std::span<const HopSeeds> seeds,
                                        std::span<const SamplingRule> rules,
                                        const HopOptions& options, std::span<const HopRows> rows) {
  CheckHop(seeds, rules, options);
  const size_t step = SeedsPerMessage(rules);
  size_t most = 0;
  for (const HopSeeds& of_type : seeds) most = std::max(most, of_type.ids.size());
  if (most <= step) return HopOnce({seeds, rules, options, rows});
  std::vector<Neighbors> out(rules.size());
  for (size_t begin = 0; begin < most; begin += step) {
    std::vector<HopSeeds> some(seeds.size());
    for (size_t t = 0; t < seeds.size(); t++) {
      const size_t from = std::min(begin, seeds[t].ids.size());
      const size_t count = std::min(step, seeds[t].ids.size() - from);
      some[t] = {seeds[t].ids.subspan(from, count), Part(seeds[t].streams, from, count),
                 Part(seeds[t].times, from, count), Part(seeds[t].real_times, from, count)};
    }
    std::vector<Neighbors> piece = HopOnce({some, rules, options, {}});
    for (size_t i = 0; i < rules.size(); i++) Append(out[i], std::move(piece[i]));
  }
  for (const HopRows& of_type : rows) {
    const auto ids = seeds[Index(of_type.ntype)].ids.subspan(of_type.begin);
    const FeatureRef ref{false, of_type.ntype, of_type.name};
    Gather(ref, ids, {of_type.out, ids.size() * RowBytes(feature(ref))});
  }
  return out;
}

}  // namespace graphd
