// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "format/input/raw_graph.h"
#include "format/native/storage_plan.h"
#include "format/partition/plan.h"

// The last step of partitioning: writing one partition's files in the native format.

namespace graphd {

// Writes partition `part` of the plan into `directory` in the native format, through buffers of 1
// MiB, with the encodings of `storage`. Calls `written`, unless it is empty, with the bytes of each
// piece. Returns the bytes of all segments.
uint64_t WritePartition(const RawGraph& graph, const PartitionPlan& plan,
                        const StoragePlan& storage, const std::string& directory, PartId part,
                        const std::function<void(uint64_t)>& written);

}  // namespace graphd
