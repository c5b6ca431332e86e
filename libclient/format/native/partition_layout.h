// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "format/input/raw_graph.h"
#include "format/native/storage_plan.h"
#include "graph/partition.h"
#include "graph/segment.h"

// The layouts of a partition's segments, before they are written.

namespace graphd {

inline constexpr const char* kGraphFile = "graph.seg";
inline constexpr const char* kNodeFeatureFile = "node_feat.seg";
inline constexpr const char* kEdgeFeatureFile = "edge_feat.seg";

// Returns the layout of graph.seg of a partition.
SegmentLayout GraphLayout(const GraphMeta& meta, PartId part);

// Return the layouts of node_feat.seg and edge_feat.seg, which have, for each type, the features in
// the graph's order and then the original ids.
SegmentLayout NodeFeatureLayout(const RawGraph& graph, const GraphMeta& meta,
                                const StoragePlan& storage, PartId part);
SegmentLayout EdgeFeatureLayout(const RawGraph& graph, const GraphMeta& meta,
                                const StoragePlan& storage, PartId part);

}  // namespace graphd
