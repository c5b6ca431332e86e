// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "format/dgl/edges.h"
#include "format/dgl/owned.h"
#include "graph/partition.h"

// Turns the local edge list of a DGL partition graph into the CSC arrays of a Partition.

namespace graphd {

// What the builder needs of a partition graph; everything must outlive the call.
struct DglStructure {
  const std::string& path;  // of the graph file, for messages
  const GraphMeta& meta;
  PartId part;
  const DglEdges& edges;
  const DglOwned& owned_nodes;
  const DglOwned& owned_edges;
  const DglArray& node_ids;  // the _ID column of nodes
};

// The segment of csc/<etype>/{indptr,indices,edge_rows}. Within a node the in-edges ascend by edge
// id. edge_rows is left out where the edges of a type lie in the order of their destinations.
// Halo edges are dropped. Throws Error(kCorrupt) if an owned edge has an end of another type, or a
// destination that is not owned, or if an edge that is not owned has one that is.
//
// A counting sort: two passes over the edges, one table of 4 or 8 bytes per local node besides the
// segment.
std::shared_ptr<const Segment> BuildDglCsc(const DglStructure& structure,
                                           const std::string& segment_name);

// Layout of that segment; all edge types get edge_rows unless `without_rows` says otherwise.
SegmentLayout DglCscLayout(const GraphMeta& meta, PartId part,
                           const std::vector<bool>& without_rows);

}  // namespace graphd
