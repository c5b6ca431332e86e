// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "client/link/edge_calls.h"
#include "graphd/sampling_rule.h"

namespace graphd {

class GraphAccess;

// Answers questions about edges over all partitions: mapped partitions are read in place, the
// others asked by RPC, in parallel. Ids are type-wise; one out of range is Error(kInvalid).
// Thread-safe.
class EdgeQueries {
 public:
  explicit EdgeQueries(GraphAccess& access) : access_(access) {}

  // Sources and destinations of edges, in the order of `ids`; src and dst have that size.
  void FindEdges(EdgeTypeId etype, std::span<const int64_t> ids, std::span<int64_t> src,
                 std::span<int64_t> dst) const;
  // found[i] = 1 if there is an edge src[i] -> dst[i], else 0.
  void HasEdges(EdgeTypeId etype, std::span<const int64_t> src, std::span<const int64_t> dst,
                std::span<uint8_t> found) const;
  void Degrees(EdgeTypeId etype, Direction direction, std::span<const int64_t> nodes,
               std::span<int64_t> degrees) const;
  // In-edges of `seeds` (of the destination type) whose source is in `members` (ascending,
  // distinct): indptr over seeds, indices into members, edge ids.
  void Induced(EdgeTypeId etype, std::span<const int64_t> seeds, std::span<const int64_t> members,
               std::vector<int64_t>& indptr, std::vector<int64_t>& indices,
               std::vector<int64_t>& edge_ids) const;

 private:
  EdgeWidths Widths(EdgeTypeId etype) const;

  GraphAccess& access_;
};

}  // namespace graphd
