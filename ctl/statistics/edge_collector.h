// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "ctl/statistics/graph_statistics.h"
#include "ctl/statistics/partition_arrays.h"
#include "ctl/statistics/piece_scan.h"
#include "ctl/statistics/shared_counters.h"
#include "graph/partition.h"

namespace graphd::ctl {

// Counts degrees, cut edges and halo nodes while the partitions of a graph are read. One thread at
// a time.
//
// Takes one bit of memory for each node. Out-degrees and isolated nodes take another bit for each
// node; 4 bytes for each node and each edge type whose source is the node's type (8 bytes if the
// type has 2^32 edges or more); and, if partitions own arbitrary nodes, 8 bytes for each node of
// the partition that is being read.
class EdgeCollector {
 public:
  // Returns the memory that out-degrees and isolated nodes take.
  static uint64_t MemoryForDegrees(const GraphMeta& meta);

  // If `whole` is true, out-degrees and isolated nodes are counted, too; all partitions must then
  // be read. `statistics` must already have its list of types, and must outlive the object.
  EdgeCollector(const GraphMeta& meta, bool whole, GraphStatistics& statistics);

  // Reads the structure of the next partition. Throws Error(kCorrupt) naming array and element for
  // offsets that descend or don't fit the edges, and for sources that don't exist.
  void Read(PartId part, const PartitionArrays& arrays, const std::string& step, PieceScan& scan);
  // Sets the statistics that can only be computed after all partitions are read.
  void Finish();

 private:
  void ReadOffsets(PartId part, EdgeTypeId e, const StoredArray& offsets, uint64_t edges,
                   const std::string& step, PieceScan& scan);
  void ReadSources(PartId part, EdgeTypeId e, const StoredArray& sources, const std::string& step,
                   PieceScan& scan, std::vector<int64_t>& from);

  const GraphMeta& meta_;
  const bool whole_;
  GraphStatistics& statistics_;
  std::vector<DegreeCounts> in_degrees_;     // by edge type
  std::vector<SharedCounters> out_degrees_;  // by edge type; empty unless whole_
  std::vector<SharedSet> has_edges_;         // by node type: nodes with in-edges
  std::vector<SharedSet> halo_;              // by node type: halo nodes of the current part
};

}  // namespace graphd::ctl
