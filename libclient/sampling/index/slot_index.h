// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"

namespace graphd {

// The slot of each local edge row, for a CSC that has edge_rows. Immutable; thread-safe.
class InverseIndex {
 public:
  // Throws Error(kCorrupt) unless its arrays fit `csc`.
  InverseIndex(std::shared_ptr<const Segment> segment, const Csc& csc);
  uint64_t slot(uint64_t edge_row) const noexcept { return slots_[edge_row]; }
  const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }

 private:
  std::shared_ptr<const Segment> segment_;
  IdSpan slots_;
};

// The slots of each row in ascending order of neighbour, for a CSC whose rows are not sorted.
// Immutable; thread-safe.
class SortedIndex {
 public:
  // Throws Error(kCorrupt) unless its arrays fit `csc`.
  SortedIndex(std::shared_ptr<const Segment> segment, const Csc& csc);
  uint32_t relative(uint64_t at) const noexcept { return order_[at]; }
  const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }

 private:
  std::shared_ptr<const Segment> segment_;
  std::span<const uint32_t> order_;
};

// Returns whether the neighbours are in ascending order in every row, so that no SortedIndex is
// needed. This is so in partitions of graphd's own format. Reads all indices once.
bool RowsAreSorted(const Csc& csc) noexcept;

std::shared_ptr<const Segment> BuildInverseIndex(const Csc& csc);
std::shared_ptr<const Segment> BuildSortedIndex(const Csc& csc);

}  // namespace graphd
