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

bool IsIn(const SamplingRule& pick) { return pick.direction == Direction::kIn; }

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

// The random key of a pick on one partition. In-edges of a seed lie in one; out-edges in several,
// whose races must be independent. LABOR's numbers belong to the neighbours, whatever edge leads
// to them.
uint64_t KeyOf(const Schema& schema, const SamplingRule& pick, const HopOptions& options,
               PartId part) {
  const bool labor = pick.method == SamplingMethod::kLabor;
  const int32_t type = labor ? NeighborType(schema, pick) : pick.etype;
  const uint64_t key = SampleKey(options.seed, options.layer, type);
  if (IsIn(pick)) return key;
  return PartKey(pick.method, CombineKeys(key, 1), static_cast<uint32_t>(part));
}

void CheckLength(size_t got, size_t seeds, const char* what, const std::string& ntype) {
  if (got != 0 && got != seeds) {
    Throw(ErrorCode::kInvalid, got, " ", what, " for ", seeds, " seeds of node type '", ntype, "'");
  }
}

}  // namespace

struct GraphAccess::HopCall {
  std::span<const HopSeeds> seeds;
  std::span<const SamplingRule> picks;
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

void GraphAccess::CheckHop(std::span<const HopSeeds> seeds, std::span<const SamplingRule> picks,
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
  for (const SamplingRule& pick : picks) {
    CheckEtype(pick.etype);
    const std::vector<FeatureInfo>& features = edge_features_[Index(pick.etype)];
    CheckSamplingRule(schema, pick, features);
    if (!IsTemporal(pick.method)) continue;
    const NodeTypeId t = SeedType(schema, pick);
    if (Index(t) >= seeds.size() || seeds[Index(t)].ids.empty()) continue;
    const bool real = TakesRealTimes(schema, pick, features);
    if (real ? seeds[Index(t)].real_times.empty() : seeds[Index(t)].times.empty()) {
      Throw(ErrorCode::kInvalid, "the seeds of node type '", schema.ntype(t), "' have no times; '",
            pick.column, "' takes ", real ? "floating-point" : "whole", " ones");
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
    const auto wanted = [type](const SamplingRule& pick) { return pick.etype == type; };
    if (std::none_of(call.picks.begin(), call.picks.end(), wanted)) continue;
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
  work.hop.Clear();
  const auto num_ntypes = Index(schema.num_ntypes());
  for (auto* columns : {&work.streams, &work.times}) columns->resize(num_ntypes);
  work.real_times.resize(num_ntypes);
  work.places.resize(call.rows.size());
  work.answers.resize(call.picks.size());
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
    list = work.hop.seeds.size();
    PartSeeds nodes_of{seeds.ids, seeds.streams, seeds.times, seeds.real_times};
    if (own) {
      nodes_of = {part.ids, Select(seeds.streams, part.positions, work.streams[Index(t)]),
                  Select(seeds.times, part.positions, work.times[Index(t)]),
                  Select(seeds.real_times, part.positions, work.real_times[Index(t)])};
    }
    work.hop.seeds.push_back({t, nodes.count(t), nodes_of});
    return list;
  };
  for (size_t i = 0; i < call.picks.size(); i++) {
    const SamplingRule& pick = call.picks[i];
    work.answers[i].counts.clear();
    work.answers[i].neighbors.clear();
    if (pick.fanout == 0 || meta_->book.edges().count_in(p, pick.etype) == 0) {
      // Nothing to find; a partition without edges of the type may not even have the column.
      const NodeTypeId t = SeedType(schema, pick);
      work.answers[i].edge_ids.clear();
      work.answers[i].races.clear();
      work.answers[i].counts.assign(IsIn(pick) ? scratch.splits[Index(t)].parts[Index(p)].ids.size()
                                               : call.seeds_of(t).ids.size(),
                                    0);
      continue;
    }
    const bool real = TakesRealTimes(schema, pick, edge_features_[Index(pick.etype)]);
    const size_t list = list_of(SeedType(schema, pick), IsIn(pick), real);
    if (list == kNone) continue;
    work.hop.picks.push_back({list,
                              {pick, KeyOf(schema, pick, call.options, p), call.options.edge_ids,
                               work.exclude[Index(pick.etype)]},
                              nodes.count(NeighborType(schema, pick)),
                              meta_->book.edges().count(pick.etype),
                              &work.answers[i]});
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
    work.hop.rows.push_back({list_of(rows.ntype, true, real), Index(first - positions.begin()),
                             rows.name, RowBytes(feature({false, rows.ntype, rows.name})),
                             work.places[i], rows.out});
  }
}

std::vector<RpcThread::Pending> GraphAccess::StartHop(PartId p, AccessScratch::HopPart& work) {
  std::vector<RpcThread::Pending> pending;
  DaemonLink& link = *links_[Index(p)];
  size_t with_hop = 0;
  const auto is_large = [&](const PartHop::Rows& rows) {
    const size_t bytes = rows.to.size() * rows.row_bytes;
    if (with_hop + bytes > kRowBytesWithHop) return true;
    with_hop += bytes;
    return false;
  };
  const auto large = std::stable_partition(work.hop.rows.begin(), work.hop.rows.end(),
                                           [&](const auto& rows) { return !is_large(rows); });
  work.large_rows.assign(large, work.hop.rows.end());
  work.hop.rows.erase(large, work.hop.rows.end());
  if (!work.hop.empty()) pending.push_back(link.Hop(p, work.hop));
  for (const PartHop::Rows& rows : work.large_rows) {
    const PartHop::Seeds& seeds = work.hop.seeds[rows.seeds];
    pending.push_back(link.Gather(p, {false, seeds.ntype, rows.name},
                                  {seeds.nodes.ids.subspan(rows.begin), rows.to, rows.out,
                                   rows.row_bytes, IdBytes(seeds.type_count)}));
  }
  return pending;
}

void GraphAccess::RunHop(PartId p, AccessScratch& scratch) {
  const Partition& partition = *mapped_[Index(p)];
  const PartHop& hop = scratch.hop_parts[Index(p)].hop;
  for (const PartHop::Pick& pick : hop.picks) {
    scratch.picker.Run(partition, *indexes_[Index(p)], pick.pick, hop.seeds[pick.seeds].nodes,
                       *pick.answer);
  }
  for (const PartHop::Rows& rows : hop.rows) {
    const PartHop::Seeds& seeds = hop.seeds[rows.seeds];
    LocalRows(meta_->book.nodes(), seeds.ntype, p, seeds.nodes.ids.subspan(rows.begin),
              scratch.rows);
    GatherRows(partition.node_feature(seeds.ntype, rows.name).data(), rows.row_bytes, scratch.rows,
               rows.to, rows.out);
  }
}

Neighbors GraphAccess::AssembleHop(const HopCall& call, size_t i, AccessScratch& scratch) const {
  const SamplingRule& pick = call.picks[i];
  const NodeTypeId t = SeedType(meta_->schema, pick);
  const size_t num_seeds = call.seeds_of(t).ids.size();
  Neighbors out;
  out.etype = pick.etype;
  out.direction = pick.direction;
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
  if (!IsIn(pick)) {
    std::vector<RacePart> races;
    for (size_t p : answered) {
      races.push_back({parts[p].answers[i].counts, parts[p].answers[i].races});
    }
    std::vector<uint32_t> counts;
    std::vector<RaceWinner> winners;
    // All edges: in the order of partitions, unless the method has an order of its own.
    const bool ordered =
        pick.method == SamplingMethod::kTopK || pick.method == SamplingMethod::kTemporalRecent;
    const int fanout = pick.fanout < 0 && ordered ? INT_MAX : pick.fanout;
    MergeRaces(races, fanout, pick.replace, counts, winners);
    for (size_t s = 0; s < num_seeds; s++) out.indptr[s + 1] = out.indptr[s] + counts[s];
    out.neighbors.reserve(winners.size());
    for (const RaceWinner& winner : winners) {
      const auto& from = parts[answered[winner.part]].answers[i];
      out.neighbors.push_back(from.neighbors[winner.pick]);
      if (edge_ids) out.edge_ids.push_back(from.edge_ids[winner.pick]);
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
  for (size_t i = 0; i < call.picks.size(); i++) out.push_back(AssembleHop(call, i, *loan));
  return out;
}

size_t GraphAccess::SeedsPerMessage(std::span<const SamplingRule> picks) const {
  if (all_mapped()) return SIZE_MAX;
  size_t bytes = 0;  // of one seed's answer
  for (const SamplingRule& pick : picks) {
    if (pick.fanout < 0) return kSeedsOfUnknownDegree;
    bytes += Index(pick.fanout) * (IsIn(pick) ? 16 : 24);
  }
  return std::clamp(kPlannedAnswerBytes / std::max<size_t>(bytes, 1), size_t{1}, kSeedsPerMessage);
}

std::vector<Neighbors> GraphAccess::Hop(std::span<const HopSeeds> seeds,
                                        std::span<const SamplingRule> picks,
                                        const HopOptions& options, std::span<const HopRows> rows) {
  CheckHop(seeds, picks, options);
  const size_t step = SeedsPerMessage(picks);
  size_t most = 0;
  for (const HopSeeds& of_type : seeds) most = std::max(most, of_type.ids.size());
  if (most <= step) return HopOnce({seeds, picks, options, rows});
  std::vector<Neighbors> out(picks.size());
  for (size_t begin = 0; begin < most; begin += step) {
    std::vector<HopSeeds> some(seeds.size());
    for (size_t t = 0; t < seeds.size(); t++) {
      const size_t from = std::min(begin, seeds[t].ids.size());
      const size_t count = std::min(step, seeds[t].ids.size() - from);
      some[t] = {seeds[t].ids.subspan(from, count), Part(seeds[t].streams, from, count),
                 Part(seeds[t].times, from, count), Part(seeds[t].real_times, from, count)};
    }
    std::vector<Neighbors> piece = HopOnce({some, picks, options, {}});
    for (size_t i = 0; i < picks.size(); i++) Append(out[i], std::move(piece[i]));
  }
  for (const HopRows& of_type : rows) {
    const auto ids = seeds[Index(of_type.ntype)].ids.subspan(of_type.begin);
    const FeatureRef ref{false, of_type.ntype, of_type.name};
    Gather(ref, ids, {of_type.out, ids.size() * RowBytes(feature(ref))});
  }
  return out;
}

}  // namespace graphd
