// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <memory>
#include <vector>

#include "daemon/requests/compute_pool.h"
#include "sampling/index/edge_indexes.h"

namespace graphd {

// Builds the derived arrays that `specs` name, on the pool `builds`, for a job. If `specs` is
// empty, the returned promise is already fulfilled.
kj::Promise<void> BuildIndexes(ComputePool& builds, const JobShare& job,
                               std::shared_ptr<EdgeIndexes> indexes,
                               std::vector<EdgeIndexSpec> specs);
// Determines, on the pool `builds`, whether the edges of a type are sorted, unless this is known
// already. If they are not sorted, builds the array that sorts them.
kj::Promise<void> BuildSorted(ComputePool& builds, const JobShare& job,
                              std::shared_ptr<EdgeIndexes> indexes, EdgeTypeId etype);

}  // namespace graphd
