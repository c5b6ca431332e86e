// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "graphd/dist_graph.h"

// Columns with one element per object of a type, which are read partition by partition.

namespace graphd {

// The objects of a type (or, with kHomogeneous, of all types) in the order of their owners' rows.
class OwnedIds {
 public:
  // Throws Error(kInvalid) on a type out of range. `map` must outlive this object.
  OwnedIds(const IdMap& map, int32_t type);
  int32_t num_parts() const noexcept { return map_->num_parts(); }
  int64_t count() const noexcept { return count_; }
  int64_t count_in(PartId part) const { return counts_[static_cast<size_t>(part)]; }
  // Returns whether the ids of a partition are consecutive, beginning with FirstOf(part).
  bool is_range() const noexcept { return map_->is_range(); }
  int64_t FirstOf(PartId part) const { return firsts_[static_cast<size_t>(part)]; }
  // Returns the ids of rows [from, to) of a partition, ascending.
  std::vector<int64_t> Ids(PartId part, int64_t from, int64_t to) const;

 private:
  const IdMap* map_;
  int32_t type_;
  std::vector<int64_t> counts_, firsts_;  // [part]; firsts_ is empty unless is_range()
  int64_t count_ = 0;
};

// A function that returns the elements of rows [from, to) of a partition, in the order of
// OwnedIds::Ids.
using ReadRows = std::function<Tensor(PartId part, int64_t from, int64_t to)>;

// Return readers of one-dimensional columns. `column` and `ids` must outlive them.
ReadRows RowsOf(const DistTensor& column, const OwnedIds& ids);
ReadRows RowsOf(const Tensor& column, const OwnedIds& ids);

}  // namespace graphd
