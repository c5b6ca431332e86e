// SPDX-License-Identifier: Apache-2.0
#include "format/native/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "graph/decode.h"

namespace graphd {
namespace {

constexpr float kLargestFloat16 = 65504;

template <class Stored>
bool Holds(int64_t least, int64_t most) {
  return std::in_range<Stored>(least) && std::in_range<Stored>(most);
}

template <class T>
Encoding NarrowestFor(const Tensor& values) {
  const auto all = values.as<T>();
  if (all.empty()) return Encoding::Plain(values.dtype());
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  return NarrowestEncoding(values.dtype(), *least, *most);
}

// Returns the half with the value nearest to `value`, ties to even.
uint16_t ToFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | static_cast<uint16_t>((bits >> 13) & 0x1ff);
  if (magnitude == 0x7f800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // A denormal half is a multiple of 2^-24; nearbyint rounds ties to even.
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(value), 24)));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

// Returns the upper half of the float, rounded to nearest, ties to even.
uint16_t ToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

Encoding NarrowestEncoding(DType dtype, int64_t least, int64_t most) noexcept {
  Encoding encoding = Encoding::Plain(dtype);
  if (dtype != DType::kInt16 && dtype != DType::kInt32 && dtype != DType::kInt64) return encoding;
  const auto narrow = [&](DType stored) {
    if (DTypeSize(stored) < DTypeSize(dtype)) encoding.stored = stored;
    return encoding;
  };
  if (Holds<uint8_t>(least, most)) return narrow(DType::kUInt8);
  if (Holds<int8_t>(least, most)) return narrow(DType::kInt8);
  if (Holds<uint16_t>(least, most)) return narrow(DType::kUInt16);
  if (Holds<int16_t>(least, most)) return narrow(DType::kInt16);
  if (Holds<uint32_t>(least, most)) return narrow(DType::kUInt32);
  if (Holds<int32_t>(least, most)) return narrow(DType::kInt32);
  return encoding;
}

Encoding NarrowestEncoding(const Tensor& values) {
  switch (values.dtype()) {
    case DType::kInt16:
      return NarrowestFor<int16_t>(values);
    case DType::kInt32:
      return NarrowestFor<int32_t>(values);
    case DType::kInt64:
      return NarrowestFor<int64_t>(values);
    default:
      return Encoding::Plain(values.dtype());
  }
}

void FloatRange::Add(float value) noexcept {
  if (std::isfinite(value)) {
    largest = std::max(largest, std::fabs(value));
  } else if (!not_finite) {
    not_finite = value;
  }
}

void FloatRange::Merge(const FloatRange& part) noexcept {
  largest = std::max(largest, part.largest);
  if (!not_finite) not_finite = part.not_finite;
}

Encoding EncodingFor(const Tensor& values, DType stored, const std::string& what) {
  FloatRange range;
  if (values.dtype() == DType::kFloat32) {
    for (const float value : values.as<float>()) range.Add(value);
  }
  return EncodingFor(values.dtype(), range, stored, what);
}

Encoding EncodingFor(DType dtype, const FloatRange& range, DType stored, const std::string& what) {
  if (dtype != DType::kFloat32) {
    Throw(ErrorCode::kInvalid, what, " is ", DTypeName(dtype),
          "; only float32 is stored as another floating-point dtype or int8");
  }
  if (stored != DType::kFloat16 && stored != DType::kBFloat16 && stored != DType::kInt8) {
    Throw(ErrorCode::kInvalid, what, " can't be stored as ", DTypeName(stored),
          ", expected float16, bfloat16 or int8");
  }
  if (stored == DType::kInt8 && range.not_finite) {
    Throw(ErrorCode::kInvalid, what, " has a value of ", *range.not_finite,
          ", which int8 can't hold; store it as float16 or bfloat16");
  }
  if (stored == DType::kFloat16 && range.largest > kLargestFloat16) {
    Throw(ErrorCode::kInvalid, what, " has a value of ", range.largest, ", beyond ",
          kLargestFloat16, ", the largest of float16; store it as bfloat16");
  }
  if (stored != DType::kInt8) return {stored, DType::kFloat32, 1};
  const float scale = range.largest / 127;
  // The scale must not be denormal, as it would be for very small values: it would lose most of its
  // bits.
  return {stored, DType::kFloat32, std::max(scale, std::numeric_limits<float>::min())};
}

void Encode(const Encoding& encoding, const std::byte* from, size_t count, std::byte* to) noexcept {
  if (encoding.is_plain()) {
    if (count != 0) std::memcpy(to, from, count * DTypeSize(encoding.dtype));
    return;
  }
  const auto* floats = reinterpret_cast<const float*>(from);
  if (encoding.stored == DType::kFloat16) {
    std::transform(floats, floats + count, reinterpret_cast<uint16_t*>(to), ToFloat16);
  } else if (encoding.stored == DType::kBFloat16) {
    std::transform(floats, floats + count, reinterpret_cast<uint16_t*>(to), ToBFloat16);
  } else if (encoding.dtype == DType::kFloat32) {
    std::transform(floats, floats + count, reinterpret_cast<int8_t*>(to), [&](float value) {
      return static_cast<int8_t>(std::clamp(std::nearbyint(value / encoding.scale), -127.f, 127.f));
    });
  } else {
    VisitDecoder(encoding, [&](auto stored, auto, auto read) {
      const auto* wide = reinterpret_cast<const decltype(read)*>(from);
      std::transform(wide, wide + count, reinterpret_cast<decltype(stored)*>(to),
                     [](auto value) { return static_cast<decltype(stored)>(value); });
    });
  }
}

std::span<const std::byte> Encoded(const Encoding& encoding, std::span<const std::byte> elements,
                                   std::vector<std::byte>& scratch) {
  if (encoding.is_plain()) return elements;
  const size_t count = elements.size() / DTypeSize(encoding.dtype);
  scratch.resize(count * DTypeSize(encoding.stored));
  Encode(encoding, elements.data(), count, scratch.data());
  return scratch;
}

}  // namespace graphd
