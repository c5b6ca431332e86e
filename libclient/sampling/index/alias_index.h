// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"

namespace graphd {

// The weights of edges, with an alias table per row (M. Vose, "A linear algorithm for generating
// random numbers with a given distribution", 1991). With it, a draw in proportion to weight takes
// one random number and one memory access at any degree. Immutable; thread-safe.
class AliasIndex {
 public:
  // Opens an index. `csc` has the rows over which it was built, and must outlive this object.
  // `weights` is the edge feature, by local edge row. Checks the names, dtypes and shapes of the
  // index's arrays. Throws Error(kCorrupt).
  AliasIndex(std::shared_ptr<const Segment> segment, const Csc& csc, Tensor weights);

  // Returns the sum of the row's weights.
  double total(size_t row) const noexcept { return totals_[row]; }
  // Returns the number of the row's edges that have a weight above 0.
  uint32_t positive(size_t row) const noexcept { return positive_[row]; }
  // Returns the weight of the edge at a slot. It is finite and not negative, and 0 or 1 for a mask.
  double weight(uint64_t slot) const noexcept { return WeightOfEdge(EdgeRow(slot)); }
  // Draws an edge of a row with probability proportional to its weight, from 64 random bits, and
  // returns its slot relative to the row's first slot. The row begins at slot `begin`, and has
  // `degree` edges and a total above 0. Returns `degree` for the few values of `bits` that would
  // make some edges too likely; the caller must then draw again.
  uint64_t Draw(uint64_t begin, uint64_t degree, uint64_t bits) const noexcept {
    const uint64_t product = (bits >> 32) * degree;
    if (static_cast<uint32_t>(product) < degree) [[unlikely]] {
      const auto small = static_cast<uint32_t>(degree);
      if (static_cast<uint32_t>(product) < (0u - small) % small) return degree;
    }
    const uint64_t at = product >> 32;
    const Cell cell = cells_[begin + at];
    // These lines avoid a branch, which would be unpredictable.
    const uint64_t keep = 0 - uint64_t{static_cast<uint32_t>(bits) < cell.threshold};
    return (at & keep) | (cell.alias & ~keep);
  }
  void PrefetchRow(size_t row) const noexcept {
    __builtin_prefetch(totals_.data() + row);
    __builtin_prefetch(positive_.data() + row);
  }
  void PrefetchWeight(uint64_t slot) const noexcept {
    if (!edge_rows_)
      __builtin_prefetch(column_ + slot * (kind_ == Kind::kMask    ? 1
                                           : kind_ == Kind::kFloat ? 4
                                                                   : 8));
  }
  void Prefetch(uint64_t slot) const noexcept { __builtin_prefetch(cells_ + slot); }
  const std::shared_ptr<const Segment>& segment() const noexcept { return segment_; }

 private:
  struct Cell {
    uint32_t threshold, alias;
  };
  enum class Kind : uint8_t { kFloat, kDouble, kMask };
  uint64_t EdgeRow(uint64_t slot) const noexcept { return edge_rows_ ? (*edge_rows_)[slot] : slot; }
  double WeightOfEdge(uint64_t row) const noexcept {
    switch (kind_) {
      case Kind::kFloat:
        return static_cast<double>(reinterpret_cast<const float*>(column_)[row]);
      case Kind::kDouble:
        return reinterpret_cast<const double*>(column_)[row];
      case Kind::kMask:
        return column_[row] != std::byte{0} ? 1.0 : 0.0;
    }
    __builtin_unreachable();
  }

  std::shared_ptr<const Segment> segment_;
  const Cell* cells_ = nullptr;
  std::span<const double> totals_;
  std::span<const uint32_t> positive_;
  std::optional<IdSpan> edge_rows_;
  Tensor weights_;
  const std::byte* column_ = nullptr;  // the elements of weights_
  Kind kind_ = Kind::kFloat;
};

std::shared_ptr<const Segment> BuildAliasIndex(const Partition& partition, EdgeTypeId etype,
                                               const Csc& csc, const std::string& feature);

}  // namespace graphd
