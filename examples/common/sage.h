// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "graphd/block.h"

// GraphSAGE with the mean aggregator (Hamilton, Ying, Leskovec 2017), on graphd's blocks.

namespace examples {

// Computes h_d = W_self x_d + W_neigh mean(x_s : s -> d) + b, like DGL's SAGEConv("mean").
class SageConvImpl : public torch::nn::Module {
 public:
  SageConvImpl(int64_t in_width, int64_t out_width);
  // `x`: [sources, in_width]. Returns [destinations, out_width]. For a gradient, `block` must not
  // move until backward() is done.
  torch::Tensor forward(const graphd::Block& block, const torch::Tensor& x);

 private:
  torch::nn::Linear self_{nullptr}, neigh_{nullptr};
};
TORCH_MODULE(SageConv);

struct SageShape {
  int64_t in_width, hidden, out_width;
  int layers;
  double dropout;  // applied to the input of every layer
  uint64_t dropout_seed;
};

// Layers with ReLU between them. The number of dropout draws is part of the state, so that a loaded
// model continues with the same draws.
class SageLayersImpl : public torch::nn::Module {
 public:
  explicit SageLayersImpl(const SageShape& shape);
  // `x`: rows of the input nodes. Returns one row per seed.
  torch::Tensor forward(const std::vector<graphd::Block>& blocks, torch::Tensor x);

 private:
  std::vector<SageConv> layers_;
  double dropout_;
  uint64_t dropout_seed_;
  torch::Tensor draws_;
};
TORCH_MODULE(SageLayers);

}  // namespace examples
