// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/partition.h"
#include "sampling/index/slot_index.h"

// Functions that look up edges in the rows of one partition. A row is in range, or -1 for a node
// without edges in this partition. Thread-safe: they have no state of their own.

namespace graphd {

// Returns the number of edges of each row.
void Degrees(const Csc& csc, std::span<const int64_t> rows, std::span<int64_t> degrees) noexcept;

// Finds the ends of edges by local edge row (in range): the neighbour's type-wise id and the row.
// `inverse` is required if the CSC has edge_rows.
void FindEdges(const Csc& csc, const InverseIndex* inverse, std::span<const int64_t> edge_rows,
               std::span<int64_t> neighbors, std::span<int64_t> rows) noexcept;

// Sets found[i] = 1 if rows[i] has an edge with neighbors[i], else 0. `sorted` is required unless
// RowsAreSorted(csc).
void HasEdges(const Csc& csc, const SortedIndex* sorted, std::span<const int64_t> rows,
              std::span<const int64_t> neighbors, std::span<uint8_t> found) noexcept;

// The edges of given rows whose neighbour is in a set: an induced subgraph, row by row.
struct InducedEdges {
  std::vector<uint32_t> counts;     // per row
  std::vector<uint32_t> positions;  // position of each edge's neighbour in `members`
  std::vector<uint64_t> slots;  // slot of each edge; ascending by (neighbour, slot) within a row
};

// Finds the edges of rows whose neighbour is in `members`: type-wise ids, ascending, without
// duplicates, fewer than 2^32. Finds all parallel edges. Each row is either searched for the
// members or scanned, whichever is less work. Replaces the contents of `edges` and reuses its
// memory. `sorted` as in HasEdges. Throws Error(kOverloaded) as soon as there are more than
// `max_edges`, since rows may be repeated.
void FindInducedEdges(const Csc& csc, const SortedIndex* sorted, std::span<const int64_t> rows,
                      std::span<const int64_t> members, InducedEdges& edges,
                      size_t max_edges = SIZE_MAX);

}  // namespace graphd
