// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "graphd/tensor_spec.h"

// The first values of a table's rows (Initializer in graphd/tensor_spec.h). Normal values are drawn
// by the Box-Muller method in double precision.

namespace graphd::store {

// Throws Error(kInvalid) unless the initialiser suits rows of `dtype`: random values need float32
// or float64; constants also suit integers and bool if they are whole and in range; zero suits
// every dtype.
void CheckInitializer(const Initializer& initializer, DType dtype);

// Fills the row with the first values for this id. `row` has a whole number of elements. Uses
// vectors of up to `vector_bits` bits, and no more than kVectorBits (base/processor.h), which does
// not change the values.
void FillRow(const Initializer& initializer, DType dtype, int64_t id, std::span<std::byte> row,
             int vector_bits = 512);

}  // namespace graphd::store
