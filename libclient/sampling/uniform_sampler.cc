// SPDX-License-Identifier: Apache-2.0
#include "sampling/uniform_sampler.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/prefetch.h"

namespace graphd {
namespace {

constexpr uint64_t kTrackedNeighbors = uint64_t{1} << 20;  // fits the second-level cache

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

void UniformSampler::FloydByTable(CounterRng& rng, uint64_t degree, uint32_t fanout) {
  const size_t size = std::bit_ceil(size_t{fanout} * 4);
  table_.assign(size, UINT64_MAX);
  const auto insert = [&](uint64_t value) {
    for (size_t at = Mix64(value) & (size - 1);; at = (at + 1) & (size - 1)) {
      if (table_[at] == value) return false;
      if (table_[at] == UINT64_MAX) {
        table_[at] = value;
        return true;
      }
    }
  };
  sampled_.clear();
  for (uint64_t j = degree - fanout; j < degree; j++) {
    uint64_t candidate = rng.Below(j + 1);
    if (!insert(candidate)) insert(candidate = j);
    sampled_.push_back(candidate);
  }
}

template <class Index, class Out>
void UniformSampler::SampleFrom(const Index* indices, Out* neighbors, uint64_t* positions) {
  if (tracker_.empty()) tracker_.resize(kTrackedNeighbors);
  uint8_t* tracker = tracker_.data();
  const bool replace = replace_;
  const uint64_t key = key_;
  for (size_t i = 0; i < planned_.size(); i++) {
    const auto [begin, degree, count] = planned_[i];
    const Index* row = indices + begin;
    if (!replace && count == degree) {
      for (uint64_t k = 0; k < degree; k++) neighbors[k] = static_cast<Out>(row[k]);
      if (positions) {
        for (uint64_t k = 0; k < degree; k++) positions[k] = begin + k;
      }
    } else {
      // One stream per node, so that the sample is the same in every process and every call.
      CounterRng rng(CombineKeys(key, static_cast<uint64_t>(ids_[i])));
      sampled_.resize(count);
      if (replace) {
        for (uint32_t k = 0; k < count; k++) {
          sampled_[k] = rng.Below(degree);
          neighbors[k] = static_cast<Out>(row[sampled_[k]]);
        }
      } else if (degree <= kTrackedNeighbors) {
        uint32_t k = 0;
        for (uint64_t j = degree - count; j < degree; j++, k++) {
          uint64_t candidate = rng.Below(j + 1);
          if (tracker[candidate]) [[unlikely]]
            candidate = j;
          tracker[candidate] = 1;
          sampled_[k] = candidate;
          neighbors[k] = static_cast<Out>(row[candidate]);
        }
        for (k = 0; k < count; k++) tracker[sampled_[k]] = 0;
      } else {
        FloydByTable(rng, degree, count);
        for (uint32_t k = 0; k < count; k++) neighbors[k] = static_cast<Out>(row[sampled_[k]]);
      }
      if (positions) {
        for (uint32_t k = 0; k < count; k++) positions[k] = begin + sampled_[k];
      }
    }
    neighbors += count;
    if (positions) positions += count;
  }
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
