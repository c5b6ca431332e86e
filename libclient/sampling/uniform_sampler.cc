// SPDX-License-Identifier: Apache-2.0
#include "sampling/uniform_sampler.h"

#include <algorithm>

#include "base/check.h"
#include "base/prefetch.h"

namespace graphd {
namespace {

// The number of positions that are drawn before their neighbours are read. It is large enough that
// many cache lines are loaded at the same time, and small enough that all of them stay in the
// first-level cache. If more positions of one row are drawn, they are still read together.
constexpr size_t kDrawsAhead = 256;
// If all edges of a row are in the sample, a row of a larger degree than this is copied at once.
// The positions of a shorter row are listed like drawn ones, so that its first and last cache lines
// are prefetched, too.
constexpr uint64_t kCopiedDegree = 32;

}  // namespace

size_t UniformSampler::Plan(const Csc& csc, std::span<const int64_t> rows,
                            std::span<const int64_t> ids, const SamplingRule& rule, uint64_t key,
                            std::span<uint32_t> counts) {
  GRAPHD_CHECK(rows.size() == ids.size() && (counts.empty() || counts.size() == rows.size()),
               "one id and one count per row");
  csc_ = &csc;
  ids_ = ids;
  replace_ = rule.replace && rule.fanout >= 0;
  key_ = key;
  planned_.resize(rows.size());
  const uint64_t* indptr = csc.indptr.data();
  const auto fanout = rule.fanout < 0 ? UINT64_MAX : static_cast<uint64_t>(rule.fanout);
  size_t total = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kPrefetchAhead < rows.size()) __builtin_prefetch(indptr + rows[i + kPrefetchAhead]);
    const uint64_t begin = indptr[rows[i]];
    const uint64_t degree = indptr[rows[i] + 1] - begin;
    uint64_t count = std::min(degree, fanout);
    if (replace_ && degree > 0) count = fanout;
    planned_[i] = {begin, degree, static_cast<uint32_t>(count)};
    total += count;
  }
  for (size_t i = 0; i < counts.size(); i++) counts[i] = planned_[i].count;
  return total;
}

template <class Index, class Out>
void UniformSampler::SampleFrom(const Index* indices, Out* neighbors, uint64_t* positions) {
  if (!positions && drawn_.size() < kDrawsAhead) drawn_.resize(kDrawsAhead);
  size_t drawn = 0;  // number of positions whose neighbours were prefetched and not read yet
  const auto read_drawn = [&] {
    const uint64_t* from = positions ? positions : drawn_.data();
    for (size_t k = 0; k < drawn; k++) neighbors[k] = static_cast<Out>(indices[from[k]]);
    neighbors += drawn;
    if (positions) positions += drawn;
    drawn = 0;
  };
  for (size_t i = 0; i < planned_.size(); i++) {
    const auto [begin, degree, count] = planned_[i];
    const bool is_whole = !replace_ && count == degree;
    if (is_whole && degree > kCopiedDegree) {
      read_drawn();
      const Index* row = indices + begin;
      for (uint64_t k = 0; k < degree; k++) neighbors[k] = static_cast<Out>(row[k]);
      neighbors += degree;
      if (positions) {
        for (uint64_t k = 0; k < degree; k++) positions[k] = begin + k;
        positions += degree;
      }
      continue;
    }
    if (drawn + count > kDrawsAhead) {
      read_drawn();
      if (!positions && drawn_.size() < count) drawn_.resize(count);
    }
    uint64_t* to = (positions ? positions : drawn_.data()) + drawn;
    drawn += count;
    if (is_whole) {
      for (uint64_t k = 0; k < degree; k++) to[k] = begin + k;
      __builtin_prefetch(indices + begin);
      if (degree > 0) __builtin_prefetch(indices + begin + degree - 1);
      continue;
    }
    // Each node has a random stream of its own, so that its sample is the same in every process and
    // every call.
    CounterRng rng(CombineKeys(key_, static_cast<uint64_t>(ids_[i])));
    if (replace_) {
      for (uint32_t k = 0; k < count; k++) to[k] = begin + rng.Below(degree);
    } else {
      distinct_.Floyd(rng, degree, count, to);
      for (uint32_t k = 0; k < count; k++) to[k] += begin;
    }
    for (uint32_t k = 0; k < count; k++) __builtin_prefetch(indices + to[k]);
  }
  read_drawn();
}

template <class Out>
void UniformSampler::Sample(Out* neighbors, uint64_t* positions) {
  csc_->indices.Visit([&](auto indices) { SampleFrom(indices.data(), neighbors, positions); });
}

template void UniformSampler::Sample(uint32_t*, uint64_t*);
template void UniformSampler::Sample(uint64_t*, uint64_t*);
template void UniformSampler::Sample(int64_t*, uint64_t*);

void PositionsToEdgeIds(const Partition& partition, EdgeTypeId etype,
                        std::span<uint64_t> positions) {
  const Csc& csc = partition.csc(etype);
  if (csc.edge_rows) {
    csc.edge_rows->Visit([&](auto rows) {
      for (uint64_t& p : positions) p = rows[p];
    });
  }
  const IdMap& edges = partition.meta().book.edges();
  if (edges.is_range()) {
    const auto first = static_cast<uint64_t>(edges.type_begin(partition.id(), etype));
    for (uint64_t& p : positions) p += first;
  } else {
    for (uint64_t& p : positions) {
      p = static_cast<uint64_t>(edges.FromLocalRow(partition.id(), etype, static_cast<int64_t>(p)));
    }
  }
}

}  // namespace graphd
