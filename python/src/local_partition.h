// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"

namespace graphd::python {

// The Python handle of a partition in this process's memory.
struct LocalPartition {
  std::shared_ptr<const Partition> partition;
};

}  // namespace graphd::python
