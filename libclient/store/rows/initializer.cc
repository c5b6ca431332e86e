// SPDX-License-Identifier: Apache-2.0
#include "store/rows/initializer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/rng.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

double Unit(CounterRng& rng) { return static_cast<double>(rng.Next() >> 11) * 0x1p-53; }  // [0, 1)

template <class T>
void FillFloats(const Initializer& init, int64_t id, T* out, size_t count) {
  CounterRng rng(CombineKeys(init.seed, static_cast<uint64_t>(id)));
  switch (init.kind) {
    case InitKind::kConstant:
      std::fill_n(out, count, static_cast<T>(init.a));
      return;
    case InitKind::kUniform: {
      // Rounding to T may reach b.
      const T below = std::nextafter(static_cast<T>(init.b), static_cast<T>(init.a));
      for (size_t i = 0; i < count; i++) {
        const T value = static_cast<T>(init.a + (init.b - init.a) * Unit(rng));
        out[i] = init.a < init.b ? std::min(value, below) : value;
      }
      return;
    }
    case InitKind::kNormal:
      for (size_t i = 0; i < count; i += 2) {
        const double radius = init.b * std::sqrt(-2 * std::log(1 - Unit(rng)));
        const double angle = 2 * std::numbers::pi * Unit(rng);
        out[i] = static_cast<T>(init.a + radius * std::cos(angle));
        if (i + 1 < count) out[i + 1] = static_cast<T>(init.a + radius * std::sin(angle));
      }
      return;
  }
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

void FillRow(const Initializer& init, DType dtype, int64_t id, std::span<std::byte> row) {
  const size_t count = row.size() / DTypeSize(dtype);
  if (dtype == DType::kFloat32) {
    FillFloats(init, id, reinterpret_cast<float*>(row.data()), count);
  } else if (dtype == DType::kFloat64) {
    FillFloats(init, id, reinterpret_cast<double*>(row.data()), count);
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
