// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/dgl/graph.h"

// The ends of every edge of a DGL graph by local edge id, whatever format the graph is stored in.

namespace graphd {

class DglEdges {
 public:
  // Refers to the coordinate arrays if they are stored (`graph` must outlive this object then);
  // otherwise expands a compressed matrix, which takes 8 or 16 bytes per edge. Throws
  // Error(kCorrupt) if its offsets decrease, or if an edge id is missing or repeated. `path` names
  // the file in messages.
  DglEdges(const DglGraph& graph, const std::string& path);

  int64_t num_nodes() const noexcept { return num_nodes_; }
  size_t size() const noexcept { return size_; }

  // Calls f(src, dst) with two UnalignedSpan of int32 or int64 local node ids. Ids from coordinate
  // arrays are not checked and may be out of range.
  template <class F>
  decltype(auto) Visit(F&& f) const {
    if (wide_) return f(UnalignedSpan<int64_t>(src_), UnalignedSpan<int64_t>(dst_));
    return f(UnalignedSpan<int32_t>(src_), UnalignedSpan<int32_t>(dst_));
  }
  // Return the offset of an end of an edge in the file, for messages. If the edges come from a
  // compressed matrix, both return the offset at which its array of indices begins.
  uint64_t SrcOffset(size_t edge) const noexcept { return src_offset_ + edge * stride_; }
  uint64_t DstOffset(size_t edge) const noexcept { return dst_offset_ + edge * stride_; }

 private:
  template <class Id>
  void Expand(const DglCompressed& matrix, bool rows_are_sources, const std::string& path);

  int64_t num_nodes_;
  size_t size_;
  bool wide_ = true;
  std::span<const std::byte> src_, dst_;
  uint64_t src_offset_ = 0, dst_offset_ = 0, stride_ = 0;
  std::vector<std::byte> src_memory_, dst_memory_;
};

}  // namespace graphd
