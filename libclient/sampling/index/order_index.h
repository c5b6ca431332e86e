// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <variant>

#include "graph/partition.h"

namespace graphd {

// The time of each row's seed. Edge times and seed times are compared exactly, also integers with
// floats. For a seed whose time is NaN, no edge is eligible.
using SeedTimes = std::variant<std::span<const int64_t>, std::span<const double>>;

// The edges of each row in ascending order of a numeric edge feature, ties by local edge row: for
// top-k and temporal sampling. Immutable; thread-safe.
class OrderIndex {
 public:
  // Opens an index that was built from `csc`, of which only the sizes are used. Throws
  // Error(kCorrupt) if the sizes of the index do not match them.
  OrderIndex(std::shared_ptr<const Segment> segment, const Csc& csc);

  // Returns the relative slot of the edge at position `at`, which is the row's first slot plus the
  // edge's rank in the row.
  uint32_t relative(uint64_t at) const noexcept { return order_[at]; }
  // Returns the value at that position, converted to an integer by an order-preserving mapping:
  // equal values have equal keys. Keys of integer columns can be compared with each other for any
  // width except uint64, and so can the keys of floating-point columns.
  uint64_t SortKey(uint64_t at) const noexcept;
  // Counts the edges of each row that have a value < the seed's time, or <= with `inclusive`. For
  // rows[i] == -1 the count is 0. `times` has one entry per row.
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
