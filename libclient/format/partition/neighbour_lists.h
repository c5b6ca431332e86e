// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace graphd {

// A view of an undirected graph whose edges have weights: the neighbours of each node, ascending or
// not, repeated or not. An edge appears in the lists of both of its nodes. A value; safe to share
// between threads.
struct NeighbourLists {
  std::span<const uint64_t> ends;     // by node; its list begins at the previous node's end
  std::span<const uint32_t> ids;      // the lists, one after another
  std::span<const uint32_t> weights;  // by position in `ids`; empty: all weigh 1

  size_t nodes() const noexcept { return ends.size(); }
  uint64_t begin(size_t node) const noexcept { return node ? ends[node - 1] : 0; }

  // Calls f(neighbour, weight) for each neighbour of a node.
  template <class F>
  void ForEach(size_t node, F&& f) const {
    const uint64_t end = ends[node];
    if (weights.empty()) {
      for (uint64_t i = begin(node); i < end; i++) f(ids[i], uint32_t{1});
    } else {
      for (uint64_t i = begin(node); i < end; i++) f(ids[i], weights[i]);
    }
  }
};

}  // namespace graphd
