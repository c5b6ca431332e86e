// SPDX-License-Identifier: Apache-2.0
#include "graph/feature_table.h"

#include "base/strings.h"

namespace graphd {

FeatureTable::FeatureTable(Tensor stored, const Encoding& encoding)
    : stored_(std::move(stored)), encoding_(encoding) {
  CheckEncoding(encoding_);
  if (stored_.dtype() != encoding_.stored || stored_.shape().empty()) {
    Throw(ErrorCode::kInvalid, "rows of ", DTypeName(stored_.dtype()), " with ",
          stored_.shape().size(), " extents, expected ", DTypeName(encoding_.stored),
          " and at least one extent");
  }
}

void FeatureTable::Read(int64_t begin, int64_t count, std::byte* out) const noexcept {
  const size_t first = static_cast<size_t>(begin) * stored_.row_bytes();
  Decode(encoding_, stored_.data() + first, static_cast<size_t>(count) * row_elements(), out);
}

Tensor FeatureTable::ReadAll() const {
  if (encoding_.is_plain()) return stored_;
  Tensor all = Tensor::Empty(encoding_.dtype, stored_.shape());
  Read(0, num_rows(), all.data());
  return all;
}

}  // namespace graphd
