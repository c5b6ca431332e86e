// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "format/input/raw_graph.h"
#include "format/io/tensor_builder.h"

namespace graphd {

// The ends of edges while they are read: 32 bits each until an id needs more. Not thread-safe.
class EdgeBuilder {
 public:
  // With `spill`, the ends are kept in files there (TensorBuilder).
  explicit EdgeBuilder(SpillFiles* spill = nullptr)
      : spill_(spill), src_(DType::kUInt32, spill), dst_(DType::kUInt32, spill) {}

  void Add(uint64_t src, uint64_t dst) {
    if ((src | dst) > UINT32_MAX && !wide_) Widen();
    if (wide_) {
      src_.Append(src);
      dst_.Append(dst);
    } else {
      src_.Append(static_cast<uint32_t>(src));
      dst_.Append(static_cast<uint32_t>(dst));
    }
    src_end_ = std::max(src_end_, src + 1);
    dst_end_ = std::max(dst_end_, dst + 1);
  }
  int64_t count() const noexcept { return static_cast<int64_t>(src_.num_elements()); }
  // Return one more than the largest id of a source or of a destination, or 0 if there are no
  // edges.
  uint64_t src_end() const noexcept { return src_end_; }
  uint64_t dst_end() const noexcept { return dst_end_; }

  // Sets src and dst; leaves the rest of `edges` as it is.
  void Finish(RawEdges& edges) &&;

 private:
  void Widen();
  SpillFiles* spill_;
  TensorBuilder src_, dst_;
  bool wide_ = false;
  uint64_t src_end_ = 0, dst_end_ = 0;
};

}  // namespace graphd
