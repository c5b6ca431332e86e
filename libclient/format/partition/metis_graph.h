// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <metis.h>

#include <cstdint>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/partition/node_sequence.h"

// A graph as METIS takes it.

namespace graphd {

struct MetisGraph {
  // Neighbours of each node, in both directions, ascending, without self loops and repetitions.
  std::vector<idx_t> offsets, neighbours;
  std::vector<idx_t> weights;  // by place in `neighbours`; empty: all the same
};

// Weights are those of the edge feature `edge_weights`, unless that is "": numbers of at least 0,
// one per edge; edges of types without the feature weigh 1, repeated edges the sum. If all are
// whole and METIS can sum them they are taken as they are, otherwise multiplied with one factor, so
// that the average is 1000 or what METIS can sum, and rounded; 1 at least. Throws Error(kInvalid)
// for a feature that is none of this, and if there are more than `max_index` nodes or pairs.
MetisGraph MakeMetisGraph(const RawGraph& graph, const NodeSequence& sequence,
                          const std::string& edge_weights, int64_t max_index);

// What METIS takes of memory, its result and the graph included: measured on graphs that it
// coarsens badly (random ones, of which it keeps many levels of nearly the same size).
uint64_t EstimateMetisBytes(uint64_t nodes, uint64_t neighbours, uint64_t constraints) noexcept;

// Throws Error(kInvalid): more `what` than METIS can count.
[[noreturn]] void ThrowTooLargeForMetis(const char* what, uint64_t count, int64_t max_index);

}  // namespace graphd
