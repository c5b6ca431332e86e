// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "graphd/tensor_spec.h"

// The rules by which a push changes a row, and the optimiser state that is stored with the row. The
// optimisers are those of dgl.distributed.optim, as documented: SparseAdagrad keeps the sum of
// squares and not its root, and SparseAdam counts steps per row ("lazy"). Both may have weight
// decay as torch.optim defines it (added to the gradient). Arithmetic is in float32, element by
// element in a fixed order, so the same pushes give the same bits.

namespace graphd::store {

enum class UpdateKind : uint8_t {
  kSet,         // the row becomes the payload; the last of duplicate ids wins
  kAdd,         // the payload is added, each occurrence
  kSgd,         // w -= lr g
  kAdagrad,     // G += g^2;  w -= lr g / (sqrt(G) + eps)
  kRowAdagrad,  // one G per row: G += mean(g^2); DGL 0.6's rule
  kAdam,        // m, v and a step count per row
  kLoad,        // the row and its state become the payload: a row's bytes and then the state's
                // floats; or only a row's bytes, and the state becomes zero
};
constexpr uint8_t kUpdateKinds = 7;

struct UpdateRule {
  UpdateKind kind = UpdateKind::kSet;
  // 1: the gradients of an id that occurs several times in a push are averaged, as in DGL; 0: they
  // are summed, as in dense autograd. For optimisers only.
  uint8_t mean_of_duplicates = 1;
  float lr = 0.01F;
  float eps = 1e-10F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float weight_decay = 0;
  bool operator==(const UpdateRule&) const = default;
};

// Returns the floats of state per row of `elements` values. State starts as zeros.
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
// are finite and in range. kSet and kLoad suit every dtype, kAdd the dtypes that C++ can add,
// optimisers float32.
void CheckRule(const UpdateRule& rule, DType dtype, OptimizerState state);

// Does one step of an optimiser: changes `value` and `state` in place. `state` has StateFloats
// floats, the others `elements`. They do not overlap.
void Step(const UpdateRule& rule, size_t elements, const float* gradient, float* value,
          float* state);

// Adds the payload to the row, element by element.
void AddRow(DType dtype, const std::byte* payload, std::span<std::byte> value);

}  // namespace graphd::store
