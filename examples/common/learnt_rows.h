// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <span>

#include "graphd/dist_embedding.h"

namespace examples {

// Reads rows of an embedding as a differentiable operation: [ids, dim] float32. The backward pass
// adds the gradients to the embedding, for an optimiser's Step. The embedding must outlive the
// backward pass.
torch::Tensor LearntRows(graphd::DistEmbedding& embedding, std::span<const int64_t> ids);

}  // namespace examples
