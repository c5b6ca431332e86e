// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>

#include "base/check.h"
#include "graphd/tensor.h"

// Functions for columns of any numeric dtype.

namespace graphd {

// Calls f(std::span<const T>) with the elements of a tensor, where T is their own C++ type, or
// uint8_t for bool. 16-bit floats have no C++ type and must be converted first.
template <class F>
decltype(auto) VisitNumbers(const Tensor& tensor, F&& f) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return f(tensor.as<float>());
    case DType::kFloat64:
      return f(tensor.as<double>());
    case DType::kBool:
      return f(std::span(reinterpret_cast<const uint8_t*>(tensor.data()),
                         static_cast<size_t>(tensor.num_elements())));
    case DType::kUInt8:
      return f(tensor.as<uint8_t>());
    case DType::kInt8:
      return f(tensor.as<int8_t>());
    case DType::kInt16:
      return f(tensor.as<int16_t>());
    case DType::kInt32:
      return f(tensor.as<int32_t>());
    case DType::kInt64:
      return f(tensor.as<int64_t>());
    case DType::kUInt16:
      return f(tensor.as<uint16_t>());
    case DType::kUInt32:
      return f(tensor.as<uint32_t>());
    case DType::kUInt64:
      return f(tensor.as<uint64_t>());
    case DType::kFloat16:
    case DType::kBFloat16:
      break;
  }
  detail::CheckFailed(__FILE__, __LINE__, "dtype", "16-bit floats were converted");
}

inline float FromHalf(uint16_t bits) noexcept {
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  const int exponent = (bits >> 10) & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  if (exponent == 31) {
    return fraction > 0 ? std::numeric_limits<float>::quiet_NaN()
                        : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

inline float FromBrainFloat(uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Maps a number to an integer key so that the order is kept. Keys can be compared with each other
// if both come from integer types other than uint64, both from uint64, or both from floating-point
// types.
template <class T>
uint64_t SortKeyOf(T value) noexcept {
  if constexpr (std::floating_point<T>) {
    // The bits of positive floats have the same order as the values, those of negative floats the
    // opposite order. Adding 0.0 turns -0 into 0.
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value) + 0.0);
    return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
  } else if constexpr (std::same_as<T, uint64_t>) {
    return value;
  } else {
    return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ uint64_t { 1 } << 63;
  }
}

}  // namespace graphd
