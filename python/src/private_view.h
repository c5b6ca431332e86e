// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/partition.h"
#include "graphd/tensor.h"

namespace graphd::python {

// The rows of a feature of a partition, without a copy, and safe to write to: torch has no
// read-only tensors, and a write to a segment's pages would end the process. The segment is mapped
// once more, privately, so that the kernel copies the pages that are written to. Throws
// Error(kNotFound).
Tensor PrivateFeature(const Partition& partition, bool is_edge, int32_t type,
                      const std::string& name);

}  // namespace graphd::python
