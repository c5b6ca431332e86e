// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/dgl_graph.h"

// Both ends of every edge of a DGL graph by local edge id, whichever format it is stored in.

namespace graphd {

class DglEdges {
 public:
  // Views the coordinate arrays if they are stored (`graph` must then outlive this); otherwise
  // expands a compressed matrix, 8 or 16 bytes per edge. Throws Error(kCorrupt) if its offsets
  // fall or an edge id is missing or doubled. `path` names the file in messages.
  DglEdges(const DglGraph& graph, const std::string& path);

  int64_t num_nodes() const noexcept { return num_nodes_; }
  size_t size() const noexcept { return size_; }

  // Calls f(src, dst) with two UnalignedSpan of int32 or int64 local node ids. Those of coordinate
  // arrays are as the file has them: anything.
  template <class F>
  decltype(auto) Visit(F&& f) const {
    if (wide_) return f(UnalignedSpan<int64_t>(src_), UnalignedSpan<int64_t>(dst_));
    return f(UnalignedSpan<int32_t>(src_), UnalignedSpan<int32_t>(dst_));
  }
  // Offsets in the file of the coordinate arrays, 0 if there are none.
  uint64_t src_offset() const noexcept { return src_offset_; }
  uint64_t dst_offset() const noexcept { return dst_offset_; }

 private:
  template <class Id>
  void Expand(const DglCompressed& matrix, bool rows_are_sources, const std::string& path);

  int64_t num_nodes_;
  size_t size_;
  bool wide_ = true;
  std::span<const std::byte> src_, dst_;
  uint64_t src_offset_ = 0, dst_offset_ = 0;
  std::vector<std::byte> src_memory_, dst_memory_;
};

}  // namespace graphd
