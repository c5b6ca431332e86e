// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "format/partitioner.h"

namespace graphd::testing {

// Loads all partitions and expects, by the original ids, every node with its features "feat" and
// "label" and every edge with its "weight", as in raw_graph_samples.h; the in-edges of each node
// sorted by source; and the edge cut of the summary.
void ExpectWholeGraph(const RawGraph& graph, const PartitionSummary& summary,
                      PartFormat format = PartFormat::kNative);

}  // namespace graphd::testing
