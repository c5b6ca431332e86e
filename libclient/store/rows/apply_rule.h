// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/update_rule.h"
#include "graphd/tensor_spec.h"

// The application of update rules to rows, and the optimiser state that is stored with a row.
// Arithmetic is in float32, element by element in a fixed order, so the same pushes give the same
// bits.

namespace graphd::store {

// Returns how many floats of optimiser state belong to a row of `elements` values. State starts as
// zeros.
constexpr size_t StateFloats(OptimizerState kind, size_t elements) noexcept {
  switch (kind) {
    case OptimizerState::kNone:
      return 0;
    case OptimizerState::kAdagrad:
      return elements;
    case OptimizerState::kRowAdagrad:
      return 1;
    case OptimizerState::kAdam:
      return 2 * elements + 1;
  }
  return 0;
}

// Throws Error(kInvalid) unless the rule suits rows of this dtype with this state, and its numbers
// are finite and in range. kSet and kLoad suit every dtype, kAdd suits the dtypes that C++ can add,
// and the optimisers suit float32.
void CheckRule(const UpdateRule& rule, DType dtype, OptimizerState state);

// Does one step of an optimiser: changes `value` and `state` in place. `state` has StateFloats()
// floats; `gradient` and `value` have `elements` floats. The arrays must not overlap.
void Step(const UpdateRule& rule, size_t elements, const float* gradient, float* value,
          float* state);

// Adds the payload to the row, element by element.
void AddRow(DType dtype, const std::byte* payload, std::span<std::byte> value);

}  // namespace graphd::store
