// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "format/assign_nodes.h"
#include "format/raw_graph.h"
#include "graphd/partition_book.h"

// New ids for the nodes and edges of a graph whose nodes have owners (partitioner.h has the rules).

namespace graphd {

// New ids of one node type.
struct NodeNumbering {
  Tensor new_ids;              // uint32 or uint64 [nodes]: type-wise new id of each original id
  std::vector<int64_t> first;  // [partitions + 1]: partition p owns new ids first[p]..first[p+1]-1
};

NodeNumbering NumberNodes(const std::vector<PartId>& owners, PartId num_parts);

// The original ids of the nodes that `part` owns, ascending: the order of their new ids.
std::vector<int64_t> OriginalIds(const std::vector<PartId>& owners, PartId part, int64_t count);

// All edges of one type in the order of their new ids.
class SortedEdges {
 public:
  SortedEdges(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst);

  // Where the in-edges of new destination id i begin: positions are new type-wise edge ids.
  std::span<const uint64_t> offsets() const noexcept { return offsets_; }
  int64_t edge_cut() const noexcept { return edge_cut_; }

  // f(span of keys): each key has src(), the new source id, and edge(), the original edge id.
  template <class F>
  void Visit(F&& f) const {
    if (wide_.empty()) {
      f(std::span<const NarrowKey>(narrow_));
    } else {
      f(std::span<const WideKey>(wide_));
    }
  }

 private:
  struct NarrowKey {
    NarrowKey() = default;
    NarrowKey(uint64_t src, uint64_t edge) : bits(src << 32 | edge) {}
    uint64_t src() const noexcept { return bits >> 32; }
    uint64_t edge() const noexcept { return bits & UINT32_MAX; }
    auto operator<=>(const NarrowKey&) const = default;
    uint64_t bits;
  };
  struct WideKey {
    WideKey() = default;
    WideKey(uint64_t src, uint64_t edge) : source(src), id(edge) {}
    uint64_t src() const noexcept { return source; }
    uint64_t edge() const noexcept { return id; }
    auto operator<=>(const WideKey&) const = default;
    uint64_t source, id;
  };

  template <class Key>
  void Sort(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst,
            std::vector<Key>& keys);

  std::vector<uint64_t> offsets_;
  std::vector<NarrowKey> narrow_;  // while ids fit 32 bits
  std::vector<WideKey> wide_;
  int64_t edge_cut_ = 0;
};

}  // namespace graphd
