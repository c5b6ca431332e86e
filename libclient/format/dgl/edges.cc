// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/edges.h"

#include <limits>

namespace graphd {

DglEdges::DglEdges(const DglGraph& graph, const std::string& path)
    : num_nodes_(graph.num_nodes), size_(static_cast<size_t>(graph.num_edges)) {
  if (graph.coo && graph.coo->src.dtype == graph.coo->dst.dtype) {
    wide_ = graph.coo->src.dtype == DType::kInt64;
    src_ = graph.coo->src.data;
    dst_ = graph.coo->dst.data;
    src_offset_ = graph.coo->src.offset;
    dst_offset_ = graph.coo->dst.offset;
    stride_ = DTypeSize(graph.coo->src.dtype);
    return;
  }
  if (!graph.csc && !graph.csr) {
    Throw(ErrorCode::kCorrupt, path, ", offset ", graph.coo->src.offset,
          ": sources and destinations differ in dtype, expected the same");
  }
  wide_ = num_nodes_ > std::numeric_limits<int32_t>::max();
  const DglCompressed& matrix = graph.csc ? *graph.csc : *graph.csr;
  src_offset_ = dst_offset_ = matrix.indices.offset;
  if (wide_) {
    Expand<int64_t>(matrix, !graph.csc, path);
  } else {
    Expand<int32_t>(matrix, !graph.csc, path);
  }
}

template <class Id>
void DglEdges::Expand(const DglCompressed& matrix, bool rows_are_sources, const std::string& path) {
  src_memory_.resize(size_ * sizeof(Id));
  dst_memory_.resize(size_ * sizeof(Id));
  src_ = src_memory_;
  dst_ = dst_memory_;
  Id* rows = reinterpret_cast<Id*>((rows_are_sources ? src_memory_ : dst_memory_).data());
  Id* others = reinterpret_cast<Id*>((rows_are_sources ? dst_memory_ : src_memory_).data());
  std::fill(rows, rows + size_, Id{-1});
  const auto fail = [&](const DglArray& array, size_t i, const auto&... args) {
    Throw(ErrorCode::kCorrupt, path, ", offset ", array.offset + i * DTypeSize(array.dtype), ": ",
          args...);
  };
  const auto nodes = static_cast<uint64_t>(num_nodes_);
  const auto fill = [&](auto indptr, auto indices, auto edge_id) {
    uint64_t begin = static_cast<uint64_t>(indptr[0]);
    if (begin != 0) fail(matrix.indptr, 0, "the first offset is ", begin, ", expected 0");
    for (size_t row = 0; row < nodes; row++) {
      const auto end = static_cast<uint64_t>(indptr[row + 1]);
      if (end < begin || end > size_) {
        fail(matrix.indptr, row + 1, "the row's end is ", end, ", expected ", begin, "..", size_);
      }
      for (; begin < end; begin++) {
        const uint64_t other = static_cast<uint64_t>(indices[begin]), edge = edge_id(begin);
        if (other >= nodes) {
          fail(matrix.indices, begin, "node ", other, " is outside 0..", nodes - 1);
        }
        if (edge >= size_ || rows[edge] != Id{-1}) {
          fail(matrix.ids, begin, "edge id ", edge, ", expected each of 0..", size_ - 1, " once");
        }
        rows[edge] = static_cast<Id>(row);
        others[edge] = static_cast<Id>(other);
      }
    }
    if (begin != size_) {
      fail(matrix.indptr, nodes, "the last offset is ", begin, ", expected ", size_);
    }
  };
  VisitDglIds(matrix.indptr, [&](auto indptr) {
    VisitDglIds(matrix.indices, [&](auto indices) {
      VisitDglIds(matrix.ids, [&](auto ids) {
        if (ids.size() == 0) {
          fill(indptr, indices, [](uint64_t i) { return i; });
        } else {
          fill(indptr, indices, [&](uint64_t i) { return static_cast<uint64_t>(ids[i]); });
        }
      });
    });
  });
}

}  // namespace graphd
