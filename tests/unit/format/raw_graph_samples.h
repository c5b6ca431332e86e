// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "format/input/raw_graph.h"
#include "scratch_directory.h"

// Sample graphs for the tests of the native format and of partitioning.

namespace graphd::testing {

using EdgeList = std::vector<std::pair<uint32_t, uint32_t>>;

// Returns a homogeneous graph with node features "feat" (float32 [n, 3]) and "label" (int64 [n])
// and the edge feature "weight" (float32 [edges]), all functions of the id.
RawGraph HomogeneousGraph(int64_t nodes, const EdgeList& edges, bool add_reverse = false);
float FeatValue(uint64_t node, uint64_t column);
float WeightValue(uint64_t stored_edge);

// Returns edges between random ends, with self loops and repeated edges; about a third of the nodes
// is isolated.
EdgeList RandomMultigraph(int64_t nodes, int64_t edges, uint64_t seed);

// Returns a homogeneous graph of clusters of `size` nodes, scattered over the ids, with 8 edges
// from each node; one edge in ten leads to any node.
RawGraph ClusteredGraph(uint32_t clusters, uint32_t size, uint64_t seed);

// Returns a graph of node types "author", "paper" and edge types author:writes:paper,
// paper:cites:paper, paper:rev_writes:author, and author:advises:author, which has no edges.
RawGraph TypedGraph(int64_t authors, int64_t papers, uint64_t seed);

}  // namespace graphd::testing
