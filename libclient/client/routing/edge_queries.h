// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "client/link/edge_calls.h"
#include "graphd/sampling_rule.h"

namespace graphd {

class GraphAccess;

// The queries of edges over all partitions. Mapped partitions are read in place, and the other
// partitions are queried by RPC, in parallel. Ids are type-wise. The functions throw
// Error(kInvalid) on an id out of range. Thread-safe.
class EdgeQueries {
 public:
  explicit EdgeQueries(GraphAccess& access) : access_(access) {}

  // Writes the sources and destinations of edges to `src` and `dst`, which have the size of `ids`.
  void FindEdges(EdgeTypeId etype, std::span<const int64_t> ids, std::span<int64_t> src,
                 std::span<int64_t> dst) const;
  // Sets found[i] to 1 if there is an edge src[i] -> dst[i], else to 0.
  void HasEdges(EdgeTypeId etype, std::span<const int64_t> src, std::span<const int64_t> dst,
                std::span<uint8_t> found) const;
  void Degrees(EdgeTypeId etype, Direction direction, std::span<const int64_t> nodes,
               std::span<int64_t> degrees) const;
  // Finds the in-edges of `seeds` (nodes of the destination type) whose source is in `members`
  // (ascending, without duplicates), in CSC format: `indices` are positions in `members`.
  void Induced(EdgeTypeId etype, std::span<const int64_t> seeds, std::span<const int64_t> members,
               std::vector<int64_t>& indptr, std::vector<int64_t>& indices,
               std::vector<int64_t>& edge_ids) const;

 private:
  EdgeWidths Widths(EdgeTypeId etype) const;

  GraphAccess& access_;
};

}  // namespace graphd
