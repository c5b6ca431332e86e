// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "graphd/tensor.h"

// First values of a table's rows. A row's values are a function of the seed and the row's global id
// alone, so they do not depend on partitions, threads, or when the row is first touched.

namespace graphd::store {

enum class InitKind : uint8_t { kConstant, kUniform, kNormal };
constexpr uint8_t kInitKinds = 3;

// kConstant: `a`. kUniform: [a, b). kNormal: mean `a`, standard deviation `b`; drawn by Box and
// Muller's method in double precision. Xavier's rule is kUniform or kNormal whose bound the caller
// works out from the shape of the whole table.
struct Initializer {
  InitKind kind = InitKind::kConstant;
  double a = 0;
  double b = 0;
  uint64_t seed = 0;
  bool operator==(const Initializer&) const = default;
};

// Throws Error(kInvalid) unless rows of `dtype` can begin so: random values are for float32 and
// float64; constants for those and, where they are whole and fit, for integers and bool, and zero
// for every dtype.
void CheckInitializer(const Initializer& initializer, DType dtype);

// The elements of the row with this global id; `row` is a whole number of elements.
void FillRow(const Initializer& initializer, DType dtype, int64_t id, std::span<std::byte> row);

}  // namespace graphd::store
