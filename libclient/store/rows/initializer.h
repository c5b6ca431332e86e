// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "graphd/tensor_spec.h"

// First values of a table's rows (graphd/tensor_spec.h). Normal ones are drawn by Box and Muller's
// method in double precision.

namespace graphd::store {

// Throws Error(kInvalid) unless rows of `dtype` can begin so: random values are for float32 and
// float64; constants for those and, where they are whole and fit, for integers and bool, and zero
// for every dtype.
void CheckInitializer(const Initializer& initializer, DType dtype);

// The elements of the row with this global id; `row` is a whole number of elements.
void FillRow(const Initializer& initializer, DType dtype, int64_t id, std::span<std::byte> row);

}  // namespace graphd::store
