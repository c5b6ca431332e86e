// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "graphd/partition_book.h"

namespace graphd {

struct TensorRows;

// The ids of the nodes, or of the edges, of one type: an id map and the type in it. Functions take
// a TypeIds instead of a map and a number, so that code which combines the map of the nodes with an
// edge type does not compile. The map must outlive the TypeIds.
class TypeIds {
 public:
  TypeIds(const NodeMap& nodes, NodeTypeId type) noexcept : map_(&nodes), type_(type) {}
  TypeIds(const EdgeMap& edges, EdgeTypeId type) noexcept : map_(&edges), type_(type) {}
  // Takes the kind and the number of the type from data, such as a message or a tensor's policy.
  TypeIds(const PartitionBook& book, bool is_edge, int32_t type) noexcept
      : TypeIds(&book.map(is_edge), type) {}

  const IdMap& map() const noexcept { return *map_; }
  // Returns the number of the type in map().
  int32_t type() const noexcept { return type_; }
  // Returns the number of objects of the type. Throws Error(kInvalid) if there is no such type.
  int64_t count() const { return map_->count(type_); }

 private:
  friend struct TensorRows;
  TypeIds(const IdMap* map, int32_t type) noexcept : map_(map), type_(type) {}

  const IdMap* map_;
  int32_t type_;
};

}  // namespace graphd
