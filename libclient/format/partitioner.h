// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/dgl/export.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/native/write_partition.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/balance.h"
#include "graph/partition.h"

// Cuts a graph into partitions, in our native format or in DGL's.
//
// Nodes are numbered anew by (partition, type, original id); edges by (partition of the
// destination, edge type, destination, source, original id), each with the new ids. So the edges
// of a node lie together, sorted by source, in the order of their ids. The numbers that the input
// used are kept as the int64 feature "orig_id" of every node and edge type.
//
// With several trainers per machine nodes and edges get the int64 feature "trainer_id" (DGL has the
// same): 0 .. num_parts * T - 1; that of an edge is its destination's.
//
// Memory: the input graph, 8 bytes per edge (10 while they are sorted) and before that what the
// method needs. All cores sort, one thread does the rest.

namespace graphd {

struct PartitionOptions : AssignOptions {
  std::string graph_name;
  std::string output;  // directory; made if needed
  bool force = false;  // replace what a graph of that name left there
  PartFormat format = PartFormat::kNative;
  DglWriteOptions dgl;  // how kDgl is written; the native format stores no halo
  StepProgress progress;
};

struct PartitionSummary {
  std::string part_config;                        // path of <graph_name>.json
  std::map<std::string, std::string> node_names;  // paths of the files of names, by node type
  std::shared_ptr<const GraphMeta> meta;
  int64_t edge_cut = 0;              // edges whose ends are in different partitions
  std::vector<uint64_t> bytes;       // of each partition's files
  std::vector<ClassShares> classes;  // what balance_ntypes asked to balance; empty if nothing
};

// Throws Error(kInvalid) for a name that is no file name and for what CheckAssignOptions refuses,
// Error(kExists) if the output directory has that graph or any partition already and `force` is not
// set. PartitionGraph checks it too; call it before a long read of the input.
void CheckPartitionOptions(const PartitionOptions& options);

// Makes the output directory, and removes what a graph of that name and any partitions left there.
void ClearOutput(const PartitionOptions& options);

// Throws Error(kInvalid) also for an input that has a feature named "orig_id", or "trainer_id" with
// several trainers per machine, and for what DGL's format can't hold (format/dgl/export.h).
PartitionSummary PartitionGraph(const RawGraph& graph, const PartitionOptions& options);

}  // namespace graphd
