// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "format/input/raw_graph.h"
#include "format/partition/plan.h"

// Partitions that DGL 1.x and 2.x load: graph.dgl, node_feat.dgl and edge_feat.dgl per partition
// (graph.h, array.h). They contain what dgl.distributed.partition_graph would write for the same
// owners, with three differences that DGL does not notice: edges and halo nodes are in a fixed
// order (in DGL's files, their order is arbitrary); a single partition is numbered by the same
// rules as several; and the ids of the input are kept as the feature "orig_id". Partitions without
// nodes or edges are written, too, while DGL fails to write them. DGL's load_partition reads them,
// but DGL's own servers can't serve them.

namespace graphd {

struct DglWriteOptions {
  int num_hops = 1;     // depth of the halo
  int64_t formats = 0;  // bits of dgl::kCoo, kCsr, kCsc; 0: coo, DGL's default
};

// Converts names to bits: "coo,csc"; "" -> 0. Throws Error(kInvalid) for names other than coo, csc,
// csr.
int64_t DglFormatsFromNames(const std::string& names);

// Throws Error(kInvalid) for a number of hops outside 0..100. This is the first of three checks.
void CheckDglOptions(const DglWriteOptions& options);
// Throws Error(kInvalid) for a graph that DGL could not load: names with '/' or '~', type names
// with ':', a feature called _ID, features of uint16, uint32 or uint64. Call it before any work.
void CheckDglGraph(const RawGraph& graph);
// Throws Error(kInvalid) for 0 hops if edges are cut (no partition would store them), and for a
// bfloat16 feature if some partition has no nodes or edges of its type: DGL cannot load empty
// bfloat16 tensors. Call it before anything is written.
void CheckDglPlan(const RawGraph& graph, const PartitionPlan& plan, const DglWriteOptions& options);

// Writes partition `part` of the plan into `directory`, creating it if needed, through a buffer of
// 1 MiB. Memory is half a byte per node of the graph, and with csr 16 bytes per edge of the
// partition. Calls `written`, unless it is empty, with the bytes of each piece. Returns the bytes
// of all files. Requires: the three checks passed.
uint64_t WriteDglPartition(const RawGraph& graph, const PartitionPlan& plan,
                           const std::string& directory, PartId part,
                           const DglWriteOptions& options,
                           const std::function<void(uint64_t)>& written);

}  // namespace graphd
