// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/config/part_config.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

namespace graphd {

// Joins the partitions of a part config, of any format and with any partition book, into the whole
// graph with all features. Nodes and edges are in the order of their type-wise ids. The features
// called orig_id become RawNodes::orig_id and RawEdges::orig_id. Node names and texts of labels are
// not read: the graph has the paths of their files. Loads one partition after the other, so memory
// holds one partition besides the graph. Every partition must be on this machine. Throws what
// LoadPartition throws, and Error(kCorrupt) if partitions differ in their features.
RawGraph GatherPartitions(const PartConfig& config, const StepProgress& progress = {});

}  // namespace graphd
