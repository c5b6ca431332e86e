// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"
#include "graphd/tensor_spec.h"

namespace graphd {

// Where the rows of a distributed tensor lie: a map of ids, and the type in it.
struct TensorRows {
  std::shared_ptr<const IdMap> map;
  int32_t type = 0;

  int64_t total() const { return map->count(type); }
  int64_t count_in(PartId part) const { return map->count_in(part, type); }
  // Bytes of an id on the wire.
  size_t id_bytes() const { return DTypeSize(Partition::IdDType(total())); }
};

// Checks the spec against the graph, and fills in `rows` if it is -1. Throws Error(kInvalid) saying
// what is wrong: name, policy, type, rows that differ from the type's, extents, enumerations.
void CheckTensorSpec(const GraphMeta& meta, TensorSpec& spec);

// Of a spec that was checked.
TensorRows RowsOf(std::shared_ptr<const GraphMeta> meta, const TensorSpec& spec);

// "node type 'user'", "edge type 'a:b:c'", "1000 rows of its own".
std::string PolicyText(const Schema& schema, const TensorSpec& spec);

}  // namespace graphd
