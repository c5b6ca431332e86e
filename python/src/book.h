// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"
#include "graphd/partition_book.h"

namespace graphd::python {

// The Python handle of a partition book, with the names of its types.
struct Book {
  std::shared_ptr<const GraphMeta> meta;
  const PartitionBook& book() const { return meta->book; }
};

}  // namespace graphd::python
