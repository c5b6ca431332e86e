// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/huge_array.h"
#include "format/io/spill_files.h"
#include "format/partition/cluster_nodes.h"
#include "format/partition/neighbour_lists.h"
#include "graphd/tensor.h"

namespace graphd {

// The graph whose nodes are the clusters of another graph. Edges between two clusters are one edge
// with the sum of their weights, at most 2^32 - 1; edges within a cluster are left out. Immutable;
// safe to share between threads.
class CoarseGraph {
 public:
  // Makes the adjacency lists piece by piece: for each piece, all lists of the finer graph are
  // read, and then `pass_done` is called. With `spill`, the lists are kept in a file there, and a
  // piece takes `memory` bytes; otherwise the lists are in memory, and a piece takes an eighth of
  // the edges, or 64 MiB if that is more.
  CoarseGraph(const NeighbourLists& fine, const Clusters& clusters, SpillFiles* spill,
              uint64_t memory, const std::function<void()>& pass_done);
  ~CoarseGraph();
  CoarseGraph(const CoarseGraph&) = delete;
  CoarseGraph& operator=(const CoarseGraph&) = delete;

  const NeighbourLists& lists() const noexcept { return lists_; }

 private:
  class Writer;
  std::vector<uint64_t> ends_;
  std::vector<uint32_t> ids_, weights_;  // if they are in memory
  Tensor mapped_ids_, mapped_weights_;   // if they are in files
  std::string ids_path_, weights_path_;  // the files, which are removed in the end
  NeighbourLists lists_;
};

}  // namespace graphd
