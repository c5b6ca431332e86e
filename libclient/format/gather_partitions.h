// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/config/part_config.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

namespace graphd {

// Joins the partitions of a part config, whatever their format and partition book, into the whole
// graph: nodes and edges by their type-wise ids, with all features. orig_id features become
// RawNodes::orig_id and RawEdges::orig_id; the node names they refer to, and the texts of labels,
// stay in their files. Loads one partition after the other, so the memory of one is needed besides
// the graph. Every partition must be on this machine. Throws what LoadPartition throws, and
// Error(kCorrupt) if partitions differ in their features.
RawGraph GatherPartitions(const PartConfig& config, const StepProgress& progress = {});

}  // namespace graphd
