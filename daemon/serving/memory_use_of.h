// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "daemon/graph/graph_versions.h"
#include "store/tensor_host.h"
#include "wire/memory_use.h"

namespace graphd {

// Returns a description of this process's memory: the largest arrays of all versions of the graph
// and the largest shares of tensors, at most `most` of each, and sums over all. Any thread may call
// it; it takes some milliseconds per segment.
MemoryUse MemoryUseOf(const GraphVersions& graphs, const store::TensorHost& tensors, size_t most);

}  // namespace graphd
