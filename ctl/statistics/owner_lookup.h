// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/partition_book.h"

namespace graphd::ctl {

// Finds the partitions that own nodes of one type. It is fast if one partition owns most of the
// nodes that are looked up. Immutable.
class OwnerLookup {
 public:
  // The map must outlive the object. `home`: the partition that owns most of the nodes that will be
  // looked up.
  OwnerLookup(const NodeMap& nodes, NodeTypeId type, PartId home);
  // Returns the partition that owns the node. Requires: the node exists.
  PartId Owner(uint64_t node) const noexcept {
    if (node - home_begin_ < home_count_) return home_;
    return Search(node);
  }

 private:
  PartId Search(uint64_t node) const noexcept;
  PartId home_;
  uint64_t home_begin_ = 0, home_count_ = 0;
  std::vector<uint64_t> ends_;       // by partition: the end of its range
  std::span<const int32_t> owners_;  // by node; empty if partitions own ranges
};

}  // namespace graphd::ctl
