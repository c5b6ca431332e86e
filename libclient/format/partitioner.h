// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/dgl/export_partition.h"
#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "format/native/storage_plan.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "graph/partition.h"

// Splits a graph into partitions, in graphd's native format or in DGL's.
//
// Nodes get new ids in the order of (partition, type, original id). Edges get new ids in the order
// of (partition of the destination, edge type, destination, source, original id), where destination
// and source are new ids. So a node's in-edges of one type have consecutive ids, sorted by source.
// The ids of the input are kept as the int64 feature "orig_id" of every node type and, unless
// StorageOptions says otherwise, edge type. Integers are stored in the narrowest dtype that holds
// them.
//
// With several trainers per machine, nodes and edges get the int64 feature "trainer_id", as in DGL:
// 0 .. num_parts * T - 1. An edge has the trainer of its destination.
//
// Memory holds the input graph, and with it first the data of the partition method and then 8 bytes
// per edge (10 while edges are sorted). Sorting uses all cores; one thread does the rest.

namespace graphd {

struct PartitionOptions : AssignOptions {
  std::string graph_name;
  std::string output;  // directory; created if needed
  bool force = false;  // replace an earlier graph of that name
  PartFormat format = PartFormat::kNative;
  StorageOptions storage;  // options for kNative
  DglWriteOptions dgl;     // options for kDgl; the native format stores no halo
  StepProgress progress;
};

struct PartitionSummary {
  std::string part_config;                        // path of <graph_name>.json
  std::map<std::string, std::string> node_names;  // paths of the files of names, by node type
  std::vector<std::string> label_texts;           // paths of the files of labels' texts
  std::shared_ptr<const GraphMeta> meta;
  int64_t edge_cut = 0;              // edges whose ends are in different partitions
  std::vector<uint64_t> bytes;       // size of each partition's files
  std::vector<ClassShares> classes;  // classes that balance_ntypes asked to balance, if any
};

// Checks the options, as PartitionGraph does, too. Call it before a large input is read. Throws
// Error(kInvalid) for a graph name that is not a valid file name and for options that
// CheckAssignOptions refuses. Throws Error(kExists) if the output directory already has a part
// config of that name or the directory part0, unless `force` is set.
void CheckPartitionOptions(const PartitionOptions& options);

// Throws Error(kInvalid) if types or features have names that PartitionGraph refuses.
void CheckPartitionInput(const RawGraph& graph, const PartitionOptions& options);

// Creates the output directory. If it exists, removes from it the files of an earlier graph of that
// name, the files of all partitions, and the states of interrupted runs (partition_out_of_core.h)
// except the state in the directory `keep`. Throws Error(kExists) if another process uses one of
// these states.
void ClearOutput(const PartitionOptions& options, const std::string& keep = "");

// Removes the temporary files that an interrupted run may have left when it was writing the part
// config or headers. Also removes the files of node names and of labels' texts, even complete ones;
// the caller must write them again.
void RemoveTemporaries(const PartitionOptions& options);

// Partitions the graph. Throws as CheckPartitionOptions does, and Error(kInvalid) for an input that
// has a feature named "orig_id", or "trainer_id" with several trainers per machine, and for a graph
// that DGL's format can't represent (format/dgl/export_partition.h).
PartitionSummary PartitionGraph(const RawGraph& graph, const PartitionOptions& options);

}  // namespace graphd
