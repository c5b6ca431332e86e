// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "format/dgl/edges.h"
#include "format/dgl/owned.h"
#include "graph/partition.h"

// Turns the local edge list of a DGL partition graph into the CSC arrays of a Partition.

namespace graphd {

// The inputs of BuildDglCsc from a partition graph. They must outlive the call.
struct DglStructure {
  const std::string& path;  // path of the graph file, for messages
  const GraphMeta& meta;
  PartId part;
  const DglEdges& edges;
  const DglOwned& owned_nodes;
  const DglOwned& owned_edges;
  const DglArray& node_ids;  // the _ID column of nodes
};

// Builds the segment of csc/<etype>/{indptr,indices,edge_rows}. The in-edges of a node ascend by
// edge id. edge_rows is left out if the edges of a type are ordered by destination. Halo edges are
// dropped. Throws Error(kCorrupt) if an owned edge has an end of the wrong type or a destination
// that is not owned, or if a halo edge has a destination that is owned.
//
// It uses a counting sort, which passes over the edges twice. Besides the segment, it takes a table
// of 4 or 8 bytes per local node, and 2 more if there are several node types.
std::shared_ptr<const Segment> BuildDglCsc(const DglStructure& structure,
                                           const std::string& segment_name);

// Returns the layout of the segment that BuildDglCsc builds; each edge type has edge_rows unless
// `without_rows` excludes it.
SegmentLayout DglCscLayout(const GraphMeta& meta, PartId part,
                           const std::vector<bool>& without_rows);

}  // namespace graphd
