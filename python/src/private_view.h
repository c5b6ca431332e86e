// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/partition.h"
#include "graphd/tensor.h"

namespace graphd::python {

// Returns the rows of a partition's feature, without a copy, as a tensor that is safe to write to:
// torch has no read-only tensors, and a write to a segment's pages would end the process. It maps
// the segment again, privately, so that the kernel copies the pages that are written to. Throws
// Error(kNotFound) if the feature does not exist.
Tensor PrivateFeature(const Partition& partition, bool is_edge, int32_t type,
                      const std::string& name);

}  // namespace graphd::python
