// SPDX-License-Identifier: Apache-2.0
#include "client/routing/hop_executor.h"

#include <algorithm>

#include "client/link/row_calls.h"
#include "client/link/start_hop.h"
#include "client/routing/assemble_neighbors.h"
#include "client/routing/graph_access.h"
#include "client/routing/hop_plan.h"
#include "sampling/gather.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

// The size in bytes up to which rows are sent in the message of their hop. Further rows are read
// over the connection for rows, in pieces of which several are under way at once.
constexpr size_t kRowBytesWithHop = size_t{4} << 20;
// The size of an answer for which requests are planned, and the number of seeds in a request if no
// upper bound of their degrees is known.
constexpr size_t kPlannedAnswerBytes = size_t{128} << 20;
constexpr size_t kSeedsOfUnknownDegree = size_t{1} << 15;
constexpr size_t kSeedsPerMessage = size_t{1} << 20;

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

// Moves rows that are too large to travel with the hop out of the request.
void SetLargeRowsApart(const RowEncodings& encodings, PartId part, PartitionHop& hop) {
  auto& rows = hop.request.rows;
  auto& places = hop.answer.rows;
  hop.large_rows.clear();
  hop.large_places.clear();
  size_t kept = 0, with_hop = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    const NodeTypeId ntype = hop.request.seeds[rows[i].seeds].ntype;
    const Encoding encoding =
        encodings.empty() ? Encoding() : encodings.Find(part, {ntype, rows[i].name});
    const size_t bytes = places[i].to.size() * encoding.StoredBytes(places[i].row_bytes);
    if (with_hop + bytes > kRowBytesWithHop) {
      hop.large_rows.push_back(std::move(rows[i]));
      hop.large_places.push_back(places[i]);
      continue;
    }
    with_hop += bytes;
    if (kept != i) rows[kept] = std::move(rows[i]);
    places[kept++] = places[i];
  }
  rows.resize(kept);
  places.resize(kept);
}

}  // namespace

std::vector<Neighbors> HopExecutor::Run(const HopCall& call) {
  CheckHop(access_, call);
  const size_t step = SeedsPerMessage(call.rules);
  size_t most = 0;
  for (const HopSeeds& of_type : call.seeds) most = std::max(most, of_type.ids.size());
  return most <= step ? RunAtOnce(call) : RunInPieces(call, step);
}

size_t HopExecutor::SeedsPerMessage(std::span<const SamplingRule> rules) const {
  if (access_.all_mapped()) return SIZE_MAX;
  size_t bytes = 0;  // size of one seed's answer
  for (const SamplingRule& rule : rules) {
    if (rule.fanout < 0) return kSeedsOfUnknownDegree;
    bytes += Index(rule.fanout) * (rule.direction == Direction::kIn ? 16 : 24);
  }
  return std::clamp(kPlannedAnswerBytes / std::max<size_t>(bytes, 1), size_t{1}, kSeedsPerMessage);
}

std::vector<Neighbors> HopExecutor::RunInPieces(const HopCall& call, size_t step) {
  size_t most = 0;
  for (const HopSeeds& of_type : call.seeds) most = std::max(most, of_type.ids.size());
  std::vector<Neighbors> out(call.rules.size());
  for (size_t begin = 0; begin < most; begin += step) {
    std::vector<HopSeeds> some(call.seeds.size());
    for (size_t t = 0; t < some.size(); t++) {
      const HopSeeds& all = call.seeds[t];
      const size_t from = std::min(begin, all.ids.size());
      const size_t count = std::min(step, all.ids.size() - from);
      some[t] = {all.ids.subspan(from, count), Part(all.streams, from, count),
                 Part(all.times, from, count), Part(all.real_times, from, count)};
    }
    std::vector<Neighbors> piece = RunAtOnce({some, call.rules, call.options, {}});
    for (size_t i = 0; i < out.size(); i++) Append(out[i], std::move(piece[i]));
  }
  for (const HopRows& of_type : call.rows) {
    const auto ids = call.seeds[Index(of_type.ntype)].ids.subspan(of_type.begin);
    const FeatureRef ref(of_type.ntype, of_type.name);
    const size_t row_bytes = RowBytesOf(access_.feature(ref));
    access_.Gather(ref, ids, {of_type.out, ids.size() * row_bytes});
  }
  return out;
}

std::vector<Neighbors> HopExecutor::RunAtOnce(const HopCall& call) {
  GraphAccess::Loan loan(access_);
  HopPlan plan(access_, call, *loan);
  const int32_t num_parts = access_.num_parts();
  const auto attempt = [&] {
    std::vector<RpcThread::Pending> pending;
    for (PartId p = 0; p < num_parts; p++) {
      plan.Prepare(p);
      if (access_.is_mapped(p)) continue;
      for (auto& started : Start(p, loan->hops[Index(p)])) pending.push_back(std::move(started));
    }
    for (PartId p = 0; p < num_parts; p++) {
      if (access_.is_mapped(p)) RunMapped(p, *loan);
    }
    for (auto& call_under_way : pending) call_under_way.Wait();
  };
  access_.Retry([&] { loan->EndRequestsIfItThrows(attempt); });
  plan.FinishShared();
  std::vector<Neighbors> out;
  for (size_t i = 0; i < call.rules.size(); i++) {
    out.push_back(AssembleNeighbors(access_.meta().schema, call, i, *loan));
  }
  return out;
}

std::vector<RpcThread::Pending> HopExecutor::Start(PartId p, PartitionHop& hop) {
  DaemonLink& link = access_.link(p);
  SetLargeRowsApart(link.encodings(), p, hop);
  std::vector<RpcThread::Pending> pending;
  const HopRequest& request = hop.request;
  if (!request.empty()) {
    pending.push_back(StartHop(link, p, access_.meta(), request, hop.answer));
  }
  for (size_t i = 0; i < hop.large_rows.size(); i++) {
    const SeedRows& rows = hop.large_rows[i];
    const HopAnswer::Rows& place = hop.large_places[i];
    const SeedList& seeds = request.seeds[rows.seeds];
    const size_t id_bytes = IdBytes(access_.meta().book.nodes().count(seeds.ntype));
    pending.push_back(StartGather(
        link, p, {seeds.ntype, rows.name},
        {seeds.nodes.ids.subspan(rows.begin), place.to, place.out, place.row_bytes, id_bytes}));
  }
  return pending;
}

void HopExecutor::RunMapped(PartId p, AccessScratch& scratch) {
  const Partition& partition = *access_.mapped(p);
  const HopRequest& request = scratch.hops[Index(p)].request;
  const HopAnswer& answer = scratch.hops[Index(p)].answer;
  if (request.empty()) return;
  MappedReads reads{1, 0, 0, 0};
  for (size_t i = 0; i < request.rules.size(); i++) {
    const AppliedRule& applied = request.rules[i];
    scratch.hop_sampler.Run(partition, access_.indexes(p), applied,
                            request.seeds[applied.seeds].nodes, *answer.samples[i]);
    reads.edges += answer.samples[i]->neighbors.size();
  }
  for (size_t i = 0; i < request.rows.size(); i++) {
    const SeedRows& rows = request.rows[i];
    const SeedList& seeds = request.seeds[rows.seeds];
    LocalRows({access_.meta().book.nodes(), seeds.ntype}, p, seeds.nodes.ids.subspan(rows.begin),
              scratch.rows);
    GatherRows(partition.node_feature(seeds.ntype, rows.name), scratch.rows, answer.rows[i].to,
               answer.rows[i].out);
    reads.rows += scratch.rows.size();
    reads.bytes += scratch.rows.size() * answer.rows[i].row_bytes;
  }
  access_.CountMapped(p, reads);
}

}  // namespace graphd
