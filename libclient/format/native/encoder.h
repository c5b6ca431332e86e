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
// `most`, preferably unsigned. Returns the plain encoding for dtypes other than int16, int32 and
// int64.
Encoding NarrowestEncoding(DType dtype, int64_t least, int64_t most) noexcept;
// Returns the narrowest encoding for the values of a tensor, which are read once if they are
// integers.
Encoding NarrowestEncoding(const Tensor& values);

// Returns the encoding that stores float32 values as float16, bfloat16 or int8. The scale of int8
// is the largest absolute value / 127. Throws Error(kInvalid), naming `what`, if the values are not
// float32, `stored` is another dtype, or a value can't be stored: beyond 65504 in float16, infinite
// or NaN in int8.
Encoding EncodingFor(const Tensor& values, DType stored, const std::string& what);

// The range of float32 values, which determines how they can be stored in fewer bytes.
struct FloatRange {
  float largest = 0;                // the largest absolute value of finite ones
  std::optional<float> not_finite;  // one of the infinite values or NaN, if there are any
  void Add(float value) noexcept;
  void Merge(const FloatRange& part) noexcept;
};
// Returns the encoding that the overload above returns for values of `dtype` with this range, and
// throws as that does.
Encoding EncodingFor(DType dtype, const FloatRange& range, DType stored, const std::string& what);

// Converts `count` elements at `from`, which have encoding.dtype, to stored elements.
// Floating-point numbers are rounded to the nearest one, ties to even. Requires: each value can be
// stored. Thread-safe: no state.
void Encode(const Encoding& encoding, const std::byte* from, size_t count, std::byte* to) noexcept;

// Returns the stored form of elements, which have encoding.dtype. The result refers to `elements`
// if they are stored unchanged, and otherwise to `scratch`, which gets the converted elements.
std::span<const std::byte> Encoded(const Encoding& encoding, std::span<const std::byte> elements,
                                   std::vector<std::byte>& scratch);

}  // namespace graphd
