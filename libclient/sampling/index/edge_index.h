// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "graph/partition.h"

// Arrays derived from one partition that make a kind of sampling fast. Each index is a sealed
// segment of its own, so that a daemon builds it once and hands it to the trainers of its machine.
// This header builds them; alias_index.h, order_index.h, out_index.h and slot_index.h open them.
//
// Rows and slots: a row is a local destination row of the edge type (in), or a row of the kOut
// index (out); a slot is a position in the row arrays (Csc::indices). Arrays, by kind; "relative"
// means counted from the row's first slot:
//   kOut     range      uint64 [2]: number of source nodes, log2 of the directory's step
//            sources    uint32|uint64 [rows]: type-wise ids of the sources present, ascending
//            directory  uint32|uint64 [steps + 1]: first row whose source is >= step << log2
//            indptr     uint64 [rows + 1]
//            indices    uint32|uint64 [edges]: type-wise id of the destination, ascending in a row
//            edge_rows  uint32|uint64 [edges]: local edge row
//   kAlias   cells      uint32 [edges, 2]: threshold, relative alias (Vose's tables)
//            totals     float64 [rows]: sum of the row's weights
//            positive   uint32 [rows]: how many of its weights are above 0
//   kOrder   order      uint32 [edges]: relative slots, ascending by (value, edge row)
//            values     column's dtype (16-bit floats as float32, bool as uint8) [edges]: in that
//                       order
//   kInverse slots      uint32|uint64 [edges]: slot by local edge row
//   kSorted  order      uint32 [edges]: relative slots, ascending by (neighbour, slot)

namespace graphd {

enum class EdgeIndexKind : uint8_t { kOut, kAlias, kOrder, kInverse, kSorted };
const char* EdgeIndexKindName(EdgeIndexKind kind) noexcept;  // "out", "alias", ...

// The identity of an index: its kind, and the edges and the feature over which it is built.
struct EdgeIndexSpec {
  EdgeIndexKind kind = EdgeIndexKind::kOut;
  bool out = false;  // true: over the rows of the kOut index; false for kOut itself
  EdgeTypeId etype = 0;
  std::string column;  // kAlias, kOrder: an edge feature; else empty

  auto operator<=>(const EdgeIndexSpec&) const = default;
  // Returns a text such as "alias index of edge type 3 by 'weight', out-edges", for messages.
  std::string ToString() const;
};

// Builds an index with one thread. This takes O(edges), or O(edges log degree) for kOrder and
// kSorted. `out` is the segment of the edge type's kOut index, which is required if spec.out, and
// ignored otherwise. The partition must have passed Validate(). kAlias takes float32 and float64 as
// weights, and bool, uint8 and int8 as masks, in which a value other than 0 means weight 1. Throws
// Error: kNotFound for an unknown edge type or feature; kInvalid for a contradictory spec, for a
// feature that is not one-dimensional or has an unsuitable dtype, for a weight that is negative,
// infinite or NaN, and for an order value that is NaN (naming feature, edge id and value);
// kOverloaded if memory is short.
std::shared_ptr<const Segment> BuildEdgeIndex(const Partition& partition, const EdgeIndexSpec& spec,
                                              const std::shared_ptr<const Segment>& out = nullptr);

// Returns an upper bound of the memory that BuildEdgeIndex needs, in bytes: the segment and its
// working memory. Reads no edges. Throws for a contradictory spec, as BuildEdgeIndex does.
uint64_t EstimateEdgeIndexBytes(const Partition& partition, const EdgeIndexSpec& spec);

// Throws Error(kNotFound) or Error(kInvalid) unless the spec fits the partition: the edge type and
// the feature exist, and dtype and shape suit the kind. The two functions above call it.
void CheckEdgeIndexSpec(const Partition& partition, const EdgeIndexSpec& spec);

}  // namespace graphd
