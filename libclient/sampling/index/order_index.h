// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <variant>

#include "graph/partition.h"

namespace graphd {

// The time of each row's seed. Edge times and seed times are compared exactly, even if one is an
// integer and the other a float. For a seed whose time is NaN, no edge is eligible.
using SeedTimes = std::variant<std::span<const int64_t>, std::span<const double>>;

// The edges of each row in ascending order of a numeric edge feature, and of the local edge row if
// values are equal. Top-k and temporal sampling use it. Immutable; thread-safe.
class OrderIndex {
 public:
  // Opens an index that was built from `csc`, of which only the sizes are used. Throws
  // Error(kCorrupt) if the sizes of the index do not match them.
  OrderIndex(std::shared_ptr<const Segment> segment, const Csc& csc);

  // Returns the slot of an edge, relative to the row's first slot. `at` is the row's first slot
  // plus the edge's rank in the row.
  uint32_t relative(uint64_t at) const noexcept { return order_[at]; }
  // Returns the value of the edge at that position, mapped to an integer so that the order is kept
  // and equal values have equal keys. Keys of two integer columns of any dtype but uint64 can be
  // compared with each other, and so can the keys of two floating-point columns.
  uint64_t SortKey(uint64_t at) const noexcept;
  // Sets counts[i] to the number of edges of row rows[i] whose value is < times[i], or <= times[i]
  // if `inclusive`. If rows[i] is -1, the number is 0.
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
