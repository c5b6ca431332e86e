// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

#include "graph/encoding.h"

// Converters of single elements, for loops that the compiler turns into vector instructions.

namespace graphd {

// The converters have neither branches nor calls, so that the compiler can use vectors. They do not
// depend on whether the processor flushes denormal numbers, which PyTorch can switch on.
struct FromFloat16 {
  float operator()(uint16_t half) const noexcept {
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t exponent = half & 0x7c00u, rest = (half & 0x7fffu) << 13;
    // A denormal half is its ten fraction bits times 2^-24. In a float between 2^-14 and 2^-13, the
    // first ten fraction bits have these values, so they are put there, and 2^-14 is subtracted.
    const uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(0x38800000u | rest) -
                                                      std::bit_cast<float>(0x38800000u));
    // Infinite values and NaNs have the largest exponent. Signalling NaNs become quiet.
    const uint32_t quiet = rest > 0x0f800000u ? 0x00400000u : 0u;
    const uint32_t special = rest | 0x7f800000u | quiet;
    const uint32_t normal = rest + 0x38000000u;
    const uint32_t finite = exponent == 0 ? denormal : normal;
    return std::bit_cast<float>(sign | (exponent == 0x7c00u ? special : finite));
  }
};

struct FromBFloat16 {
  float operator()(uint16_t bits) const noexcept {
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
};

struct Scaled {
  float scale;
  float operator()(int8_t value) const noexcept { return static_cast<float>(value) * scale; }
};

template <class To>
struct Widened {
  template <class From>
  To operator()(From value) const noexcept {
    return static_cast<To>(value);
  }
};

template <class To, class F>
void VisitWidening(DType stored, const F& f) {
  switch (stored) {
    case DType::kUInt8:
      return f(uint8_t(), Widened<To>(), To());
    case DType::kInt8:
      return f(int8_t(), Widened<To>(), To());
    case DType::kUInt16:
      return f(uint16_t(), Widened<To>(), To());
    case DType::kInt16:
      return f(int16_t(), Widened<To>(), To());
    case DType::kUInt32:
      return f(uint32_t(), Widened<To>(), To());
    default:
      return f(int32_t(), Widened<To>(), To());
  }
}

// Calls f(Stored(), converter, Read()) for an encoding that is not plain. Stored and Read are the
// C++ types of an element as it is stored and as readers get it, where a 16-bit float is a
// uint16_t. The converter makes a Read from a Stored.
template <class F>
void VisitDecoder(const Encoding& encoding, const F& f) {
  switch (encoding.dtype) {
    case DType::kInt16:
      return VisitWidening<int16_t>(encoding.stored, f);
    case DType::kInt32:
      return VisitWidening<int32_t>(encoding.stored, f);
    case DType::kInt64:
      return VisitWidening<int64_t>(encoding.stored, f);
    default:
      break;
  }
  if (encoding.stored == DType::kFloat16) return f(uint16_t(), FromFloat16(), float());
  if (encoding.stored == DType::kBFloat16) return f(uint16_t(), FromBFloat16(), float());
  return f(int8_t(), Scaled{encoding.scale}, float());
}

}  // namespace graphd
