// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/encoding.h"
#include "graphd/tensor.h"

namespace graphd {

// The rows of a feature in a partition, by local row. They may be stored in a narrower dtype than
// readers get. Immutable, so any thread may read it.
class FeatureTable {
 public:
  // Throws Error(kInvalid) if CheckEncoding does, if the dtype of `stored` is not that of the
  // stored elements in the encoding, or if `stored` has no dimension.
  FeatureTable(Tensor stored, const Encoding& encoding);

  // Returns the dtype that readers get.
  DType dtype() const noexcept { return encoding_.dtype; }
  const std::vector<int64_t>& shape() const noexcept { return stored_.shape(); }
  int64_t num_rows() const noexcept { return stored_.num_rows(); }
  size_t row_elements() const noexcept { return stored_.row_bytes() / DTypeSize(encoding_.stored); }
  // Returns the bytes of a row that readers get.
  size_t row_bytes() const noexcept { return row_elements() * DTypeSize(encoding_.dtype); }

  const Encoding& encoding() const noexcept { return encoding_; }
  // Returns the elements as they are stored.
  const Tensor& stored() const noexcept { return stored_; }

  // Writes `count` rows from row `begin` on, as readers get them, to `out`. They take count *
  // row_bytes() bytes.
  void Read(int64_t begin, int64_t count, std::byte* out) const noexcept;
  // Returns all rows as readers get them: the stored memory itself if the encoding is plain, else
  // a copy.
  Tensor ReadAll() const;

 private:
  Tensor stored_;
  Encoding encoding_;
};

}  // namespace graphd
