// SPDX-License-Identifier: Apache-2.0
#include "client/routing/assemble_neighbors.h"

#include <climits>
#include <numeric>

#include "sampling/rule_traits.h"

namespace graphd {
namespace {

using Answers = std::vector<SampledEdges<int64_t>*>;

// Takes the only answer, which already has the order of the call.
void TakeOnlyAnswer(SampledEdges<int64_t>& only, Neighbors& out) {
  std::partial_sum(only.counts.begin(), only.counts.end(), out.indptr.begin() + 1,
                   [](int64_t sum, int64_t count) { return sum + count; });
  out.neighbors = std::move(only.neighbors);
  out.edge_ids = std::move(only.edge_ids);
}

// Merges the answers for out-edges, which were requested from every partition.
void MergeAnswers(const Answers& answers, const SamplingRule& rule, bool edge_ids, Neighbors& out) {
  std::vector<PartArrivals> arrivals;
  for (const auto* answer : answers) arrivals.push_back({answer->counts, answer->arrival_keys});
  std::vector<uint32_t> counts;
  std::vector<MergedEdge> merged;
  // If all edges are wanted, they are in the order of partitions, unless the method has an order of
  // its own.
  const bool ordered =
      rule.method == SamplingMethod::kTopK || rule.method == SamplingMethod::kTemporalRecent;
  const int fanout = rule.fanout < 0 && ordered ? INT_MAX : rule.fanout;
  MergeByArrival(arrivals, fanout, rule.replace, counts, merged);
  for (size_t s = 0; s < counts.size(); s++) out.indptr[s + 1] = out.indptr[s] + counts[s];
  out.neighbors.reserve(merged.size());
  for (const MergedEdge& edge : merged) {
    const SampledEdges<int64_t>& from = *answers[edge.part];
    out.neighbors.push_back(from.neighbors[edge.position]);
    if (edge_ids) out.edge_ids.push_back(from.edge_ids[edge.position]);
  }
}

// Interleaves the answers for in-edges, which were requested from the owner of each seed.
void InterleaveByOwner(const std::vector<PartitionHop>& hops, size_t rule,
                       const std::vector<PartId>& owners, size_t total, bool edge_ids,
                       Neighbors& out) {
  struct Cursor {
    size_t seed = 0, edge = 0;
  };
  std::vector<Cursor> cursors(hops.size());
  out.neighbors.resize(total);
  out.edge_ids.resize(edge_ids ? total : 0);
  size_t at = 0;
  for (size_t s = 0; s < owners.size(); s++) {
    const auto owner = Index(owners[s]);
    const SampledEdges<int64_t>& from = hops[owner].samples[rule];
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
}

}  // namespace

Neighbors AssembleNeighbors(const Schema& schema, const HopCall& call, size_t i,
                            AccessScratch& scratch) {
  const SamplingRule& rule = call.rules[i];
  const NodeTypeId t = SeedType(schema, rule);
  const size_t num_seeds = call.seeds_of(t).ids.size();
  Neighbors out;
  out.etype = rule.etype;
  out.direction = rule.direction;
  out.indptr.assign(num_seeds + 1, 0);
  if (num_seeds == 0) return out;
  Answers answers;
  size_t total = 0;
  for (PartitionHop& hop : scratch.hops) {
    SampledEdges<int64_t>& answer = hop.samples[i];
    if (answer.counts.empty()) continue;
    answers.push_back(&answer);
    total += answer.neighbors.size();
  }
  const bool edge_ids = call.options.edge_ids;
  if (answers.size() == 1) {
    TakeOnlyAnswer(*answers[0], out);
  } else if (rule.direction == Direction::kOut) {
    MergeAnswers(answers, rule, edge_ids, out);
  } else {
    InterleaveByOwner(scratch.hops, i, scratch.splits[Index(t)].owners, total, edge_ids, out);
  }
  return out;
}

}  // namespace graphd
