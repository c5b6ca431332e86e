// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <cstdint>

#include "graphd/block.h"

// The kernels of mean_neighbors.h and dropout.h as differentiable operations.

namespace examples {

// Mean of the rows of `x` ([sources, width] float32) over each destination's neighbours:
// [destinations, width]. For a gradient, `edges` must stay where it is until backward() is done.
// The backward pass runs only if `x` wants a gradient, so the input layer, where most edges are,
// has none.
torch::Tensor MeanOverNeighbors(const torch::Tensor& x, const graphd::BlockEdges& edges);

// Dropout decided by `key`; see dropout.h.
torch::Tensor DropoutByKey(const torch::Tensor& x, uint64_t key, double p);

}  // namespace examples
