// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "format/io/spill_files.h"

namespace graphd {

// The key of an edge. Edges are merged in the order of (node, src, edge).
struct MergedEdge {
  uint64_t node = 0, src = 0, edge = 0;
  auto operator<=>(const MergedEdge&) const = default;
};

// The merge of sorted lists of edges, which are kept in a file until this object is destroyed. Not
// thread-safe.
class EdgeMerge {
 public:
  EdgeMerge(const std::string& path, size_t row_bytes);
  ~EdgeMerge();
  EdgeMerge(const EdgeMerge&) = delete;
  EdgeMerge& operator=(const EdgeMerge&) = delete;

  // Begins the next list.
  void BeginPart();
  // Adds an edge to the list. Requires: it is not less than the previous one. `row` has row_bytes.
  void Add(const MergedEdge& edge, std::span<const std::byte> row);
  // Calls f for all edges in their order, reading the lists through buffers of `memory` in all.
  void ForEach(uint64_t memory,
               const std::function<void(const MergedEdge&, std::span<const std::byte>)>& f);

 private:
  class Reader;
  const size_t row_bytes_;
  SpillFile file_;
  std::vector<uint64_t> begins_;
};

}  // namespace graphd
