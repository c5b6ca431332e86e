// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "graphd/tensor.h"

namespace graphd {

// The relation between the elements of a feature as they are stored and as readers get them.
// Readers always get `dtype`. A narrower dtype in memory saves memory, disk space, and bandwidth
// when rows are gathered. These pairs are possible:
//
//   stored                                  dtype                   value that readers get
//   an integer type with fewer bytes        int16, int32, int64     the same
//   float16, bfloat16                       float32                 the same
//   int8                                    float32                 stored * scale, in float32
//   any                                     the same                the same
struct Encoding {
  DType stored = DType::kFloat32;
  DType dtype = DType::kFloat32;
  float scale = 1;

  // Returns the encoding that stores elements as they are read.
  static Encoding Plain(DType dtype) noexcept { return {dtype, dtype, 1}; }
  bool is_plain() const noexcept { return stored == dtype; }
  // Returns the stored size of a row that is `row_bytes` long as readers get it.
  size_t StoredBytes(size_t row_bytes) const noexcept {
    return is_plain() ? row_bytes : row_bytes / DTypeSize(dtype) * DTypeSize(stored);
  }
  bool operator==(const Encoding&) const = default;
};

// Throws Error(kInvalid) if the pair of dtypes is not in the table above, if the scale is not a
// positive finite number, or if the scale is not 1 although the values of this pair have no scale.
void CheckEncoding(const Encoding& encoding);

// Converts `count` stored elements at `from` to the elements that readers get. The result does not
// depend on the processor. Requires: CheckEncoding accepts the encoding. Thread-safe: no state.
void Decode(const Encoding& encoding, const std::byte* from, size_t count, std::byte* to) noexcept;

}  // namespace graphd
