// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "graph/partition.h"

namespace graphd::python {

// A partition in this process's memory, as Python holds it.
struct LocalPartition {
  std::shared_ptr<const Partition> partition;
};

}  // namespace graphd::python
