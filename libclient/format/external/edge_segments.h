// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "format/external/spilled_edges.h"
#include "format/native/header.h"
#include "format/native/storage_plan.h"
#include "graph/partition.h"

namespace graphd {

// Returns the features of an edge type as columns that are sorted together with its edges.
std::vector<EdgeColumn> EdgeColumns(const RawGraph& graph, const StoragePlan& storage,
                                    EdgeTypeId etype);

// Sorts the edges of a partition, of all types, and writes graph.seg and edge_feat.seg under their
// temporary names (partition_writer.h) into `directory`, which must exist. Calls `written` with the
// bytes of each piece. Returns the header's entries of the two files.
std::vector<NativeSegmentInfo> WriteEdgeSegments(const RawGraph& graph, const GraphMeta& meta,
                                                 const std::vector<SpilledEdges>& edges,
                                                 const StoragePlan& storage,
                                                 const std::string& directory, PartId part,
                                                 const std::function<void(uint64_t)>& written);

}  // namespace graphd
