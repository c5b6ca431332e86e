// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "format/input/raw_graph.h"
#include "format/partition/plan.h"

// The last step of partitioning: one partition's files in the native format.

namespace graphd {

// Writes partition `part` of the plan into `directory` in the native format, through buffers of 1
// MiB. `written` is told the bytes of each piece; may be empty. Returns the bytes of all segments.
uint64_t WritePartition(const RawGraph& graph, const PartitionPlan& plan,
                        const std::string& directory, PartId part,
                        const std::function<void(uint64_t)>& written);

}  // namespace graphd
