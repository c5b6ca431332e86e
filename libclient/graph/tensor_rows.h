// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"
#include "graph/type_ids.h"
#include "graphd/tensor_spec.h"

namespace graphd {

// The maximum number of bytes in a tensor's name.
inline constexpr size_t kMaxTensorName = 255;
// The maximum number of dimensions of a tensor's row, which are those after the first one.
inline constexpr size_t kMaxExtents = 8;

// The distribution of a tensor's rows over partitions: an id map, and the type in it that the rows
// belong to.
struct TensorRows {
  std::shared_ptr<const IdMap> map;
  int32_t type = 0;

  TypeIds ids() const noexcept { return {map.get(), type}; }
  int64_t total() const { return map->count(type); }
  int64_t count_in(PartId part) const { return map->count_in(part, type); }
  // Returns the number of bytes that a row's id takes in a message.
  size_t id_bytes() const { return DTypeSize(Partition::IdDType(total())); }
};

// Checks the spec against the graph, and sets `rows` if it is -1. Throws Error(kInvalid) naming the
// fault: an invalid name, policy, type or row shape, a number of rows that differs from the type's,
// or an unknown enumeration value.
void CheckTensorSpec(const GraphMeta& meta, TensorSpec& spec);

// Checks the dimensions of a row: at most kMaxExtents, all positive, and a row of at most 16 MiB.
// Throws Error(kInvalid).
void CheckRowShape(const TensorSpec& spec);

// Returns the distribution of the rows of a spec that CheckTensorSpec accepted.
TensorRows RowsOf(std::shared_ptr<const GraphMeta> meta, const TensorSpec& spec);

// Describes the policy: "node type 'user'", "edge type 'a:b:c'", "1000 rows of its own".
std::string PolicyText(const Schema& schema, const TensorSpec& spec);

}  // namespace graphd
