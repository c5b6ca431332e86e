// SPDX-License-Identifier: Apache-2.0
#include "store/rows/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/processor.h"
#include "base/rng.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

// The functions below use only IEEE 754's additions, multiplications, divisions and square roots,
// in a fixed order, and integers. So compilers can use vectors, and the rows are the same with
// every processor and C library.

// Converts an integer below 2^53: the halves become the low bits of 2^52 and of 2^84.
inline double ToDouble(uint64_t value) {
  const uint64_t low = 0x4330000000000000 | (value & 0xffffffff);
  const uint64_t high = 0x4530000000000000 | (value >> 32);
  return (std::bit_cast<double>(low) - 0x1p52) + (std::bit_cast<double>(high) - 0x1p84);
}

// Returns element i of the stream, in [0, 1).
inline double Unit(uint64_t key, uint64_t i) {
  return ToDouble(CounterRng::At(key, i) >> 11) * 0x1p-53;
}

// Returns ln(x) for a normal x > 0 with a relative error of about 2^-52: x = 2^e m with m around 1,
// and ln(m) = 2 artanh(s) with s = (m - 1) / (m + 1), by its power series.
inline double Log(double x) {
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  constexpr uint64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // sqrt(0.5), the least m
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t above = bits - kHalfRoot + (uint64_t{1023} << 52);
  const double e = ToDouble(above >> 52) - 1023;
  const double m = std::bit_cast<double>((above & kMantissa) + kHalfRoot);
  const double s = (m - 1) / (m + 1);
  const double q = s * s;
  double sum = 1.0 / 23;
  for (int n = 21; n >= 1; n -= 2) sum = sum * q + 1.0 / n;
  return e * std::numbers::ln2 + 2 * s * sum;
}

struct Direction {
  double x, y;
};

// Returns the cosine and the sine of 2 pi `turns`, turns in [0, 1): the power series within an
// eighth of a turn around the nearest quarter.
inline Direction DirectionOf(double turns) {
  const double rounded = 4 * turns + 0x1p52;  // the low bits are the quarter
  const uint64_t quarter = std::bit_cast<uint64_t>(rounded);
  const double r = 2 * std::numbers::pi * (turns - (rounded - 0x1p52) / 4);
  const double q = r * r;
  double sine = 1, cosine = 1;
  for (int n = 16; n >= 2; n -= 2) {
    cosine = 1 - cosine * (q * (1.0 / (n * (n - 1))));
    sine = 1 - sine * (q * (1.0 / (n * (n + 1))));
  }
  sine *= r;
  const double x = (quarter & 1) != 0 ? sine : cosine, y = (quarter & 1) != 0 ? cosine : sine;
  return {((quarter + 1) & 2) != 0 ? -x : x, (quarter & 2) != 0 ? -y : y};
}

template <class T>
__attribute__((always_inline)) inline void FillWith(const Initializer& init, uint64_t key, T* out,
                                                    size_t count) {
  switch (init.kind) {
    case InitKind::kConstant:
      std::fill_n(out, count, static_cast<T>(init.a));
      return;
    case InitKind::kUniform: {
      // Rounding to T may reach b, unless a and b are one number.
      const T below = std::nextafter(static_cast<T>(init.b), static_cast<T>(init.a));
      const double a = init.a, width = init.b - init.a;
      for (size_t i = 0; i < count; i++) {
        const T value = static_cast<T>(a + width * Unit(key, i));
        out[i] = value < below ? value : below;
      }
      return;
    }
    case InitKind::kNormal: {
      const double a = init.a, b = init.b;
      const auto pair = [&](size_t i) {
        const double radius = b * std::sqrt(-2 * Log(1 - Unit(key, i)));
        const Direction direction = DirectionOf(Unit(key, i + 1));
        return Direction{a + radius * direction.x, a + radius * direction.y};
      };
      for (size_t i = 0; i + 1 < count; i += 2) {
        const Direction both = pair(i);
        out[i] = static_cast<T>(both.x);
        out[i + 1] = static_cast<T>(both.y);
      }
      if (count % 2 != 0) out[count - 1] = static_cast<T>(pair(count - 1).x);
      return;
    }
  }
}

template <class T>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void FillBy512(const Initializer& init,
                                                                    uint64_t key, T* out,
                                                                    size_t count) {
  FillWith(init, key, out, count);
}

template <class T>
__attribute__((target("avx2"))) void FillBy256(const Initializer& init, uint64_t key, T* out,
                                               size_t count) {
  FillWith(init, key, out, count);
}

template <class T>
void FillFloats(const Initializer& init, int64_t id, T* out, size_t count, int vector_bits) {
  const uint64_t key = CombineKeys(init.seed, static_cast<uint64_t>(id));
  const int bits = std::min(vector_bits, kVectorBits);
  if (bits >= 512) return FillBy512(init, key, out, count);
  if (bits >= 256) return FillBy256(init, key, out, count);
  FillWith(init, key, out, count);
}

// Calls f(T()) for integers and bool; returns false for other dtypes.
template <class F>
bool VisitIntegers(DType dtype, F f) {
  switch (dtype) {
    case DType::kUInt8:
      f(uint8_t());
      return true;
    case DType::kBool:
      f(uint8_t());
      return true;
    case DType::kInt8:
      f(int8_t());
      return true;
    case DType::kInt16:
      f(int16_t());
      return true;
    case DType::kInt32:
      f(int32_t());
      return true;
    case DType::kInt64:
      f(int64_t());
      return true;
    case DType::kUInt16:
      f(uint16_t());
      return true;
    case DType::kUInt32:
      f(uint32_t());
      return true;
    case DType::kUInt64:
      f(uint64_t());
      return true;
    default:
      return false;
  }
}

}  // namespace

void CheckInitializer(const Initializer& init, DType dtype) {
  if (!std::isfinite(init.a) || !std::isfinite(init.b)) {
    Throw(ErrorCode::kInvalid, "an initialiser's numbers must be finite, not ", init.a, " and ",
          init.b);
  }
  if (init.kind == InitKind::kUniform && init.a > init.b) {
    Throw(ErrorCode::kInvalid, "uniform values from ", init.a, " to ", init.b,
          ": give the lower bound first");
  }
  if (init.kind == InitKind::kNormal && init.b < 0) {
    Throw(ErrorCode::kInvalid, "a standard deviation is not negative: ", init.b);
  }
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return;
  if (init.kind != InitKind::kConstant) {
    Throw(ErrorCode::kInvalid, "random first values are for float32 and float64, not ",
          DTypeName(dtype));
  }
  if (init.a == 0) return;
  bool fits = false;
  VisitIntegers(dtype, [&](auto zero) {
    using T = decltype(zero);
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double top = dtype == DType::kBool ? 1 : end - 1;
    fits = init.a == std::floor(init.a) && init.a <= top && init.a < end &&
           init.a >= static_cast<double>(std::numeric_limits<T>::min());
  });
  if (!fits)
    Throw(ErrorCode::kInvalid, "rows of ", DTypeName(dtype), " can't have the first value ",
          init.a);
}

void FillRow(const Initializer& init, DType dtype, int64_t id, std::span<std::byte> row,
             int vector_bits) {
  const size_t count = row.size() / DTypeSize(dtype);
  if (dtype == DType::kFloat32) {
    FillFloats(init, id, reinterpret_cast<float*>(row.data()), count, vector_bits);
  } else if (dtype == DType::kFloat64) {
    FillFloats(init, id, reinterpret_cast<double*>(row.data()), count, vector_bits);
  } else if (init.a == 0) {
    std::memset(row.data(), 0, row.size());
  } else {
    VisitIntegers(dtype, [&](auto zero) {
      using T = decltype(zero);
      std::fill_n(reinterpret_cast<T*>(row.data()), count, static_cast<T>(init.a));
    });
  }
}

}  // namespace graphd::store
