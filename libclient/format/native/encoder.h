// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/encoding.h"
#include "graphd/tensor.h"

// The choice of how a feature is stored (graph/encoding.h), and the conversion.

namespace graphd {

// Returns the encoding with the narrowest stored dtype for values of `dtype` from `least` to
// `most`; unsigned before signed. Plain for dtypes other than int16, int32 and int64.
Encoding NarrowestEncoding(DType dtype, int64_t least, int64_t most) noexcept;
// Does the same for the values of a tensor, which are read once if they are integers.
Encoding NarrowestEncoding(const Tensor& values);

// Returns the encoding that stores float32 values as float16, bfloat16 or int8. The scale of int8
// is the largest absolute value / 127. Throws Error(kInvalid), naming `what`, if the values are not
// float32, `stored` is another dtype, or a value can't be stored: beyond 65504 in float16, infinite
// or NaN in int8.
Encoding EncodingFor(const Tensor& values, DType stored, const std::string& what);

// The range of float32 values, which determines how they can be stored in fewer bytes.
struct FloatRange {
  float largest = 0;                // the largest absolute value of finite ones
  std::optional<float> not_finite;  // one that is infinite or NaN, if any is
  void Add(float value) noexcept;
  void Merge(const FloatRange& part) noexcept;
};
// Does the same as EncodingFor for values of `dtype` in this range.
Encoding EncodingFor(DType dtype, const FloatRange& range, DType stored, const std::string& what);

// Converts `count` elements at `from`, which have encoding.dtype, to stored elements.
// Floating-point numbers are rounded to the nearest one, ties to even. Requires: each value can be
// stored. Thread-safe: no state.
void Encode(const Encoding& encoding, const std::byte* from, size_t count, std::byte* to) noexcept;

// Returns elements, which have encoding.dtype, as they are stored: `elements` themselves, or what
// `scratch` gets.
std::span<const std::byte> Encoded(const Encoding& encoding, std::span<const std::byte> elements,
                                   std::vector<std::byte>& scratch);

}  // namespace graphd
