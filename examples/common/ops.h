// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <cstdint>

#include "graphd/block.h"

// The kernels of mean_neighbors.h and dropout.h as differentiable operations.

namespace examples {

// Returns the mean of the rows of `x` ([sources, width] float32) over each destination's
// neighbours: [destinations, width]. For a gradient, `edges` must not move until backward() is
// done. The backward pass runs only if `x` requires a gradient; the input layer, which has most
// edges, requires none.
torch::Tensor MeanOverNeighbors(const torch::Tensor& x, const graphd::BlockEdges& edges);

// Applies the dropout decided by `key`; see dropout.h.
torch::Tensor DropoutByKey(const torch::Tensor& x, uint64_t key, double p);

}  // namespace examples
