// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <metis.h>

#include <cstdint>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/partition/neighbour_lists.h"
#include "format/partition/node_sequence.h"

// A graph in METIS's format.

namespace graphd {

struct MetisGraph {
  // The neighbours of each node in both directions, ascending, without self loops and repetitions.
  std::vector<idx_t> offsets, neighbours;
  std::vector<idx_t> weights;  // by position in `neighbours`; empty: equal weights
};

// Builds METIS's graph. If `edge_weights` is not "", it names the edge feature with the weights:
// numbers of at least 0, one per edge. Edges of types without the feature weigh 1; repeated edges
// weigh the sum. If all weights are whole and METIS can sum them, they are used as they are.
// Otherwise they are scaled to an average of 1000, or less if METIS could not sum them, and rounded
// to at least 1. Throws Error(kInvalid) for a feature that breaks these rules, and for more than
// `max_index` nodes or pairs.
MetisGraph MakeMetisGraph(const RawGraph& graph, const NodeSequence& sequence,
                          const std::string& edge_weights, int64_t max_index);

// Builds METIS's graph of clusters, whose lists may repeat neighbours. Weights are summed, and
// scaled so that METIS can sum them all, but are at least 1. Throws Error(kInvalid) for more than
// `max_index` nodes or pairs.
MetisGraph MakeMetisGraph(const NeighbourLists& lists, int64_t max_index);

// Estimates METIS's memory, including the graph and its result. The estimate is derived from
// measurements with random graphs, for which METIS needs much: it coarsens them badly, so it keeps
// many levels of nearly the same size.
uint64_t EstimateMetisBytes(uint64_t nodes, uint64_t neighbours, uint64_t constraints) noexcept;

}  // namespace graphd
