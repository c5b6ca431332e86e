// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

// The sparse half of a GraphSAGE layer: means over the neighbours that a block lists in CSC order.
// Uses one thread and allocates nothing. Rows have `width` floats. Indices must be in range.

namespace examples {

struct Csc {
  std::span<const int64_t> indptr;   // [destinations + 1]
  std::span<const int32_t> indices;  // source rows
};

// Computes out[d] = mean of x[indices[indptr[d] .. indptr[d+1])]; 0 for a destination without
// neighbours.
void MeanOfNeighbors(Csc csc, int64_t width, const float* x, float* out);

// Computes the transpose: grad_x[s] += grad_out[d] / degree(d) for every edge s -> d.
void SpreadToNeighbors(Csc csc, int64_t width, const float* grad_out, float* grad_x);

}  // namespace examples
