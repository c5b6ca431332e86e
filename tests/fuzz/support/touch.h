// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "graph/partition.h"

namespace graphd::fuzz {

// Reads all ids, maps them with the partition book, and reads all features.
void TouchPartition(const Partition& partition);

// Reads all edges and features. Aborts if an edge has an end that does not exist, or if a feature
// has another number of rows than its type.
void TouchGraph(const RawGraph& graph);

}  // namespace graphd::fuzz
