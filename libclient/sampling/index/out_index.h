// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"

namespace graphd {

// The edges a partition owns, by source: a row per source that has one here. A source's other
// out-edges lie with the owners of their destinations. Immutable; thread-safe. Array names stand in
// edge_index.h.
class OutIndex {
 public:
  // Checks the arrays' names, dtypes and shapes. Throws Error(kCorrupt).
  explicit OutIndex(std::shared_ptr<const Segment> segment);

  // Rows as all kernels take them: indices are the destinations' type-wise ids, edge_rows are
  // always there, rows are sorted by destination. Valid while this object lives.
  const Csc& csc() const noexcept { return csc_; }
  size_t num_rows() const noexcept { return sources_.size(); }
  // Type-wise ids of the sources, by row, ascending.
  const IdSpan& sources() const noexcept { return sources_; }
  const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }

  // Row of a source's type-wise id; -1 if none of its out-edges is here, or the id is out of range.
  // A directory and a search among at most (source nodes / rows) neighbours: O(1) expected.
  int64_t RowOf(uint64_t source) const noexcept;
  // The same for many, with prefetch.
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
