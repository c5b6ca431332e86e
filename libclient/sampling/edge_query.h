// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/partition.h"
#include "sampling/index/slot_index.h"

// Functions that look up edges in the rows of a partition's Csc. A row, if it is an argument, is in
// range, or -1 for a node without edges in this partition. Thread-safe: they have no state.

namespace graphd {

// Returns the number of edges of each row.
void Degrees(const Csc& csc, std::span<const int64_t> rows, std::span<int64_t> degrees) noexcept;

// Finds the two ends of each edge that `edge_rows` names by its local edge row, which is in range:
// the type-wise id of its neighbour, and the row in the Csc that the edge is in. `inverse` is
// required if the Csc has edge_rows.
void FindEdges(const Csc& csc, const InverseIndex* inverse, std::span<const int64_t> edge_rows,
               std::span<int64_t> neighbors, std::span<int64_t> rows) noexcept;

// Sets found[i] = 1 if rows[i] has an edge with neighbors[i], else 0. `sorted` is required unless
// RowsAreSorted(csc).
void HasEdges(const Csc& csc, const SortedIndex* sorted, std::span<const int64_t> rows,
              std::span<const int64_t> neighbors, std::span<uint8_t> found) noexcept;

// The edges of given rows whose neighbours are in a given set of members, row after row. They are
// the edges of an induced subgraph if the rows are those of the members.
struct InducedEdges {
  std::vector<uint32_t> counts;     // per row
  std::vector<uint32_t> positions;  // position of each edge's neighbour in `members`
  std::vector<uint64_t> slots;  // slot of each edge; ascending by (neighbour, slot) within a row
};

// Finds the edges of rows whose neighbours are in `members`, which has fewer than 2^32 type-wise
// ids, ascending and without duplicates. Finds all parallel edges. Each row is either searched for
// the members or scanned, whichever is less work. Replaces the contents of `edges` and reuses its
// memory. `sorted` is required as in HasEdges. Throws Error(kOverloaded) as soon as there are more
// than `max_edges` edges, because rows may be repeated without limit.
void FindInducedEdges(const Csc& csc, const SortedIndex* sorted, std::span<const int64_t> rows,
                      std::span<const int64_t> members, InducedEdges& edges,
                      size_t max_edges = SIZE_MAX);

}  // namespace graphd
