// SPDX-License-Identifier: Apache-2.0
#include "format/input/edge_builder.h"

#include <utility>

namespace graphd {

void EdgeBuilder::Widen() {
  for (TensorBuilder* ids : {&src_, &dst_}) {
    TensorBuilder wide(DType::kUInt64, spill_);
    ids->ForEach<uint32_t>([&](uint32_t id) { wide.Append(uint64_t{id}); });
    *ids = std::move(wide);
  }
  wide_ = true;
}

void EdgeBuilder::Finish(RawEdges& edges) && {
  const int64_t edges_read = count();
  edges.src = std::move(src_).Finish({edges_read});
  edges.dst = std::move(dst_).Finish({edges_read});
}

}  // namespace graphd
