// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/native/header.h"
#include "format/native/storage_plan.h"
#include "format/partition/assign_nodes.h"
#include "graph/partition.h"

namespace graphd {

// Writes node_feat.seg of the partitions `begin` .. `end` - 1 under their temporary names
// (partition_writer.h) into directory(part), which must exist. Reads every feature once, in the
// order of the input, and appends each row to the file of its owner. `memory` bounds the buffers;
// NodeSegmentsAtOnce says how many partitions it allows. Calls `written` with the bytes of each
// piece. Returns the header's entry of each file, by partition.
std::vector<NativeSegmentInfo> WriteNodeSegments(
    const RawGraph& graph, const GraphMeta& meta, const NodeOwners& owners,
    const StoragePlan& storage, const std::function<std::string(PartId)>& directory, int32_t begin,
    int32_t end, uint64_t memory, const std::function<void(uint64_t)>& written);

// Returns how many partitions can be written at once: their buffers are at least 16 KiB each, and
// each has an open file.
int32_t NodeSegmentsAtOnce(uint64_t memory);

}  // namespace graphd
