// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/config/part_config.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

namespace graphd {

// The whole graph that a part config's partitions make, in whichever format and by whichever book
// they are: nodes and edges by their type-wise ids, with all features. orig_id features become
// RawNodes::orig_id and RawEdges::orig_id; names of nodes that they lead to stay in their file.
// Loads one partition after the other, so the memory of one is needed beside the graph. Every
// partition must be here. Throws what LoadPartition throws, and Error(kCorrupt) if partitions
// differ in their features.
RawGraph GatherPartitions(const PartConfig& config, const StepProgress& progress = {});

}  // namespace graphd
