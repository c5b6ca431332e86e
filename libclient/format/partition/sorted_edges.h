// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/huge_array.h"
#include "format/input/raw_graph.h"
#include "format/partition/node_numbering.h"

// New ids for the edges of a graph whose nodes have new ids (partitioner.h has the rules).

namespace graphd {

// The source (new id) and the original id of an edge, which are compared in this order. Both fit 32
// bits, and are stored in one word.
struct NarrowEdgeKey {
  // Returns whether these keys can hold the edges.
  static bool Holds(const NodeNumbering& src, const RawEdges& edges) {
    return src.new_ids.dtype() == DType::kUInt32 && edges.count() <= int64_t{UINT32_MAX};
  }
  NarrowEdgeKey() = default;
  NarrowEdgeKey(uint64_t src, uint64_t edge) : bits(src << 32 | edge) {}
  uint64_t src() const noexcept { return bits >> 32; }
  uint64_t edge() const noexcept { return bits & UINT32_MAX; }
  auto operator<=>(const NarrowEdgeKey&) const = default;
  uint64_t bits;
};
struct WideEdgeKey {
  WideEdgeKey() = default;
  WideEdgeKey(uint64_t src, uint64_t edge) : source(src), id(edge) {}
  uint64_t src() const noexcept { return source; }
  uint64_t edge() const noexcept { return id; }
  auto operator<=>(const WideEdgeKey&) const = default;
  uint64_t source, id;
};

// All edges of one type in the order of their new ids: 8 bytes each while ids fit 32 bits, else 16,
// plus 8 per destination. Sorting takes 2 more bytes per edge, and all cores. Immutable; safe to
// share between threads.
class SortedEdges {
 public:
  SortedEdges(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst);

  // Returns where the in-edges of each new destination id begin; positions are new type-wise edge
  // ids.
  std::span<const uint64_t> offsets() const noexcept { return offsets_; }
  int64_t edge_cut() const noexcept { return edge_cut_; }

  // Calls f(span of keys): each key has src(), the new source id, and edge(), the original edge id.
  template <class F>
  void Visit(F&& f) const {
    if (wide_.empty()) {
      f(narrow_.span());
    } else {
      f(wide_.span());
    }
  }

 private:
  int64_t CountCut(const NodeNumbering& src, const NodeNumbering& dst) const;
  std::vector<uint64_t> offsets_;
  HugeArray<NarrowEdgeKey> narrow_;
  HugeArray<WideEdgeKey> wide_;
  int64_t edge_cut_ = 0;
};

}  // namespace graphd
