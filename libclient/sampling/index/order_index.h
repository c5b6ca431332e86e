// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <variant>

#include "graph/partition.h"

namespace graphd {

// The time of each row's seed. Edge times and seed times are compared exactly, also integers with
// floats. A seed time that is no number is before and after nothing: no edge is eligible.
using SeedTimes = std::variant<std::span<const int64_t>, std::span<const double>>;

// The edges of each row in ascending order of a numeric edge feature, ties by local edge row: for
// top-k and temporal sampling. Immutable; thread-safe.
class OrderIndex {
 public:
  // `csc` are the rows it was built over; only its sizes are looked at. Throws Error(kCorrupt).
  OrderIndex(std::shared_ptr<const Segment> segment, const Csc& csc);

  // Relative slot of the edge at position `at` (a slot number: row's begin + rank).
  uint32_t relative(uint64_t at) const noexcept { return order_[at]; }
  // The value there, mapped to integers so that order is kept: equal values have equal keys. Keys
  // of integer columns are comparable with one another whatever their width (uint64 excepted), and
  // so are those of float columns.
  uint64_t SortKey(uint64_t at) const noexcept;
  // Counts the edges of each row that have a value < the seed's time, or <= with `inclusive`.
  // rows[i] == -1 gives 0. `times` has one entry per row.
  void CountBefore(const Csc& csc, std::span<const int64_t> rows, const SeedTimes& times,
                   bool inclusive, std::span<uint64_t> counts) const noexcept;

  void Prefetch(uint64_t at) const noexcept {
    __builtin_prefetch(order_.data() + at);
    __builtin_prefetch(values_.data() + at * DTypeSize(values_.dtype()));
  }
  const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }

 private:
  std::shared_ptr<const Segment> segment_;
  std::span<const uint32_t> order_;
  Tensor values_;
};

std::shared_ptr<const Segment> BuildOrderIndex(const Partition& partition, EdgeTypeId etype,
                                               const Csc& csc, const std::string& feature);

}  // namespace graphd
