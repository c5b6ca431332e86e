// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/assign_nodes.h"
#include "format/dgl_writer.h"
#include "format/part_config.h"
#include "format/raw_graph.h"
#include "format/step_progress.h"
#include "format/write_partition.h"
#include "graph/partition.h"

// Cuts a graph into partitions, in our native format or in DGL's.
//
// Nodes are numbered anew by (partition, type, original id); edges by (partition of the
// destination, edge type, destination, source, original id), each with the new ids. So the edges
// of a node lie together, sorted by source, in the order of their ids. The numbers that the input
// used are kept as the int64 feature "orig_id" of every node and edge type.
//
// Memory: the input graph, 8 bytes per edge and what the method needs. One thread.

namespace graphd {

struct PartitionOptions {
  std::string graph_name;
  PartId num_parts = 1;
  PartMethod method = PartMethod::kMetis;
  uint64_t seed = 0;
  std::string output;  // directory; made if needed
  bool force = false;  // replace what a graph of that name left there
  PartFormat format = PartFormat::kNative;
  DglWriteOptions dgl;  // how kDgl is written; the native format stores no halo
  StepProgress progress;
};

struct PartitionSummary {
  std::string part_config;  // path of <graph_name>.json
  std::shared_ptr<const GraphMeta> meta;
  int64_t edge_cut = 0;         // edges whose ends are in different partitions
  std::vector<uint64_t> bytes;  // of each partition's files
};

// Throws Error(kInvalid) for a name that is no file name or a number of partitions outside
// 1..16384, Error(kExists) if the output directory has that graph or any partition already and
// `force` is not set. PartitionGraph checks it too; call it before a long read of the input.
void CheckPartitionOptions(const PartitionOptions& options);

// Throws Error(kInvalid) also for an input that has a feature named "orig_id", and for what DGL's
// format can't hold (dgl_writer.h).
PartitionSummary PartitionGraph(const RawGraph& graph, const PartitionOptions& options);

}  // namespace graphd
