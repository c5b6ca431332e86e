// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "graph/decode.h"
#include "graph/encoding.h"

namespace graphd::ctl {

// The type to which elements of the type T are converted to be summarized. It holds all of their
// values.
template <class T>
using SummaryNumber =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

// Returns whether the values of the dtype are whole numbers.
inline bool IsWhole(DType dtype) noexcept {
  return dtype != DType::kFloat16 && dtype != DType::kBFloat16 && dtype != DType::kFloat32 &&
         dtype != DType::kFloat64;
}

// Calls f(elements, convert) with a span of stored elements and a function that converts one of
// them to the value that readers get. The value is an int64_t, a uint64_t or a double, and all
// arrays of one dtype have the same one of these types. `bytes` has stored elements in the
// encoding, which CheckEncoding must accept.
template <class F>
void VisitElements(const Encoding& encoding, std::span<const std::byte> bytes, F&& f) {
  const auto elements = [&]<class T>(T) {
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  };
  const auto plain = [&]<class T>(T zero) {
    f(elements(zero), [](T value) { return static_cast<SummaryNumber<T>>(value); });
  };
  if (!encoding.is_plain()) {
    return VisitDecoder(encoding, [&]<class To>(auto zero, auto decode, To) {
      f(elements(zero),
        [decode](auto value) { return static_cast<SummaryNumber<To>>(decode(value)); });
    });
  }
  switch (encoding.dtype) {
    case DType::kFloat16:
      return f(elements(uint16_t()), [](uint16_t v) { return double{FromFloat16()(v)}; });
    case DType::kBFloat16:
      return f(elements(uint16_t()), [](uint16_t v) { return double{FromBFloat16()(v)}; });
    case DType::kFloat32:
      return plain(float());
    case DType::kFloat64:
      return plain(double());
    case DType::kBool:  // a damaged file may also have other bytes than 0 and 1
      return f(elements(uint8_t()), [](uint8_t v) { return int64_t{v != 0}; });
    case DType::kUInt8:
      return plain(uint8_t());
    case DType::kInt8:
      return plain(int8_t());
    case DType::kUInt16:
      return plain(uint16_t());
    case DType::kInt16:
      return plain(int16_t());
    case DType::kUInt32:
      return plain(uint32_t());
    case DType::kInt32:
      return plain(int32_t());
    case DType::kUInt64:
      return plain(uint64_t());
    case DType::kInt64:
      return plain(int64_t());
  }
}

}  // namespace graphd::ctl
