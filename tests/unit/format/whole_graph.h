// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "format/partitioner.h"

namespace graphd::testing {

// Loads all partitions and expects in them, by the original ids, every node with its features
// "feat" and "label" and every edge with its "weight", as raw_graph_samples.h makes them; the in-
// edges of each node sorted by source; and the edge cut that the summary tells.
void ExpectWholeGraph(const RawGraph& graph, const PartitionSummary& summary,
                      PartFormat format = PartFormat::kNative);

}  // namespace graphd::testing
