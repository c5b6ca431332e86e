// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// The rules by which a push changes a row. They mean the same in trainers and daemons. The
// optimisers are those that the documentation of dgl.distributed.optim describes: SparseAdagrad
// keeps the sum of squares and not its root, and SparseAdam counts steps per row ("lazy"). Both may
// have weight decay as torch.optim defines it (added to the gradient).

namespace graphd {

enum class UpdateKind : uint8_t {
  kSet,         // the row becomes the payload; the last of duplicate ids wins
  kAdd,         // the payload is added, once for each occurrence of an id
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
  // If 1, the gradients of an id that occurs several times in a push are averaged, as in DGL. If 0,
  // they are summed, as in dense autograd. Only optimisers use it.
  uint8_t mean_of_duplicates = 1;
  float lr = 0.01F;
  float eps = 1e-10F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float weight_decay = 0;
  bool operator==(const UpdateRule&) const = default;
};

}  // namespace graphd
