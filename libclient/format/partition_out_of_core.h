// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"
#include "format/partitioner.h"

// Partitions a graph that is larger than the memory. The data that PartitionGraph holds in memory
// is kept in files here. These are in the directory <output>/<graph_name>.partitioning, which is
// removed at the end. The partitions have the same bytes as the partitions that PartitionGraph
// writes.
//
// Memory holds 8 bytes for each node (16 and more while ldg or fennel assigns nodes, 36 and more
// while multilevel does), and the names of nodes while the input is read. Everything else adapts to
// the remaining memory: edges are sorted in parts (external/spilled_edges.h), and rows of features
// go through buffers.
//
// If a run that was killed is repeated, it continues after its last complete step or, if partitions
// were being written, after the last complete partition.

namespace graphd {

// The source of the graph.
struct GraphSource {
  // Returns a description of the files and options. A later run continues this one only if its
  // description is the same.
  std::function<nlohmann::ordered_json()> describe;
  // Reads the graph. Its large arrays must be in files of `spill`.
  std::function<RawGraph(SpillFiles& spill, const StepProgress& progress)> read;
};

// Partitions the graph with at most `memory` bytes of resident memory, including the memory of the
// program and of mapped files. Throws as PartitionGraph does. Also throws Error(kInvalid) for DGL's
// format and for several trainers per machine; Error(kOverloaded), which names the amount that is
// needed, if `memory` is too small or the disk has too little room; and Error(kExists) if the
// output has the state of another run and options.force is not set.
PartitionSummary PartitionOutOfCore(const GraphSource& source, const PartitionOptions& options,
                                    uint64_t memory);

}  // namespace graphd
