// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "format/input/raw_graph.h"
#include "format/partition/plan.h"

// Partitions that DGL 1.x and 2.x load: graph.dgl, node_feat.dgl and edge_feat.dgl per partition
// (graph.h, array.h). They hold what dgl.distributed.partition_graph would leave for the
// same owners, with three differences that DGL has no eyes for: edges and halo nodes are in a fixed
// order where DGL's is by chance, one partition is numbered by the same rules as several, and the
// numbers of the input stay as the feature "orig_id". Partitions without nodes or edges are
// written, too, where DGL gives up: load_partition reads them, DGL's own servers can't serve them.

namespace graphd {

struct DglWriteOptions {
  int num_hops = 1;     // depth of the halo
  int64_t formats = 0;  // bits of dgl::kCoo, kCsr, kCsc; 0: coo, what DGL stores when not asked
};

// "coo,csc" -> bits; "" -> 0. Throws Error(kInvalid) for a name that is none of coo, csc, csr.
int64_t DglFormatsFromNames(const std::string& names);

// Throws Error(kInvalid) for a number of hops outside 0..100. Call it before anything.
void CheckDglOptions(const DglWriteOptions& options);
// Throws Error(kInvalid) for what DGL could not load: names with '/' or '~', type names with ':'
// too, a feature called _ID, features of uint16, uint32 or uint64. Call it before any work.
void CheckDglGraph(const RawGraph& graph);
// Throws Error(kInvalid) for 0 hops if edges are cut (their sources would be nowhere), and for a
// bfloat16 feature of a type of which some partition has nothing: DGL knows no empty tensors of it.
// Call it before anything is written.
void CheckDglPlan(const RawGraph& graph, const PartitionPlan& plan, const DglWriteOptions& options);

// Writes partition `part` of the plan into `directory`, which is made if needed, streaming through
// a buffer of 1 MiB: memory is half a byte per node of the graph, and with csr 16 bytes per edge of
// the partition. `written` is told the bytes of each piece; may be empty. Returns the bytes of all
// files. Requires: the three checks.
uint64_t WriteDglPartition(const RawGraph& graph, const PartitionPlan& plan,
                           const std::string& directory, PartId part,
                           const DglWriteOptions& options,
                           const std::function<void(uint64_t)>& written);

}  // namespace graphd
