// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"

namespace graphd {

// The edges that a partition owns, by source: one row for each source of such an edge. Other
// out-edges of a source are stored in the partitions that own their destinations. Its arrays are
// described in edge_index.h. Immutable; thread-safe.
class OutIndex {
 public:
  // Checks the arrays' names, dtypes and shapes. Throws Error(kCorrupt).
  explicit OutIndex(std::shared_ptr<const Segment> segment);

  // Returns the rows in the form that the kernels use: `indices` has the type-wise ids of the
  // destinations, in ascending order within a row, and edge_rows is always present. Valid for the
  // lifetime of this object.
  const Csc& csc() const noexcept { return csc_; }
  size_t num_rows() const noexcept { return sources_.size(); }
  // Returns the type-wise ids of the sources, one per row, in ascending order.
  const IdSpan& sources() const noexcept { return sources_; }
  const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }

  // Returns the row of a source, given its type-wise id, or -1 if this partition has none of its
  // out-edges, or if the id is out of range. Takes constant time on average, because the directory
  // limits the search to the sources in a small range of ids, which has about one row on average.
  int64_t RowOf(uint64_t source) const noexcept;
  // Does the same for many sources, with prefetching.
  void RowsOf(std::span<const int64_t> sources, std::span<int64_t> rows) const noexcept;

 private:
  std::shared_ptr<const Segment> segment_;
  uint64_t num_sources_ = 0;  // ids are below
  unsigned shift_ = 0;
  IdSpan sources_, directory_;
  Csc csc_;
};

std::shared_ptr<const Segment> BuildOutIndex(const Partition& partition, EdgeTypeId etype);

}  // namespace graphd
