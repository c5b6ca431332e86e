// SPDX-License-Identifier: Apache-2.0
#include "sampling/slots.h"

#include "base/prefetch.h"

namespace graphd {
namespace {

template <class Typed, class Out>
void Take(const Typed* from, std::span<const uint64_t> slots, Out* out) {
  size_t i = 0;
  for (; i + kPrefetchAhead < slots.size(); i++) {
    __builtin_prefetch(from + slots[i + kPrefetchAhead]);
    out[i] = static_cast<Out>(from[slots[i]]);
  }
  for (; i < slots.size(); i++) out[i] = static_cast<Out>(from[slots[i]]);
}

}  // namespace

template <class Out>
void WriteNeighbors(const Csc& csc, std::span<const uint64_t> slots, Out* out) {
  csc.indices.Visit([&](auto indices) { Take(indices.data(), slots, out); });
}

void WriteEdgeRows(const Csc& csc, std::span<const uint64_t> slots, uint64_t* rows) {
  if (csc.edge_rows) {
    csc.edge_rows->Visit([&](auto typed) { Take(typed.data(), slots, rows); });
  } else if (rows != slots.data()) {
    for (size_t i = 0; i < slots.size(); i++) rows[i] = slots[i];
  }
}

template <class Out>
void WriteEdgeIds(const Partition& partition, EdgeTypeId etype, const Csc& csc,
                  std::span<const uint64_t> slots, Out* ids) {
  if (csc.edge_rows) {
    csc.edge_rows->Visit([&](auto typed) { Take(typed.data(), slots, ids); });
  } else {
    for (size_t i = 0; i < slots.size(); i++) ids[i] = static_cast<Out>(slots[i]);
  }
  const IdMap& edges = partition.meta().book.edges();
  if (edges.is_range()) {
    const auto first = static_cast<Out>(edges.type_begin(partition.id(), etype));
    for (size_t i = 0; i < slots.size(); i++) ids[i] += first;
  } else {
    for (size_t i = 0; i < slots.size(); i++) {
      ids[i] =
          static_cast<Out>(edges.FromLocalRow(partition.id(), etype, static_cast<int64_t>(ids[i])));
    }
  }
}

template void WriteNeighbors(const Csc&, std::span<const uint64_t>, uint32_t*);
template void WriteNeighbors(const Csc&, std::span<const uint64_t>, uint64_t*);
template void WriteNeighbors(const Csc&, std::span<const uint64_t>, int64_t*);
template void WriteEdgeIds(const Partition&, EdgeTypeId, const Csc&, std::span<const uint64_t>,
                           uint64_t*);
template void WriteEdgeIds(const Partition&, EdgeTypeId, const Csc&, std::span<const uint64_t>,
                           int64_t*);

}  // namespace graphd
