// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "common/node_trainer.h"
#include "graphd/samplers.h"

// GraphSAGE with the mean aggregator (Hamilton, Ying, Leskovec 2017), on graphd's blocks.

namespace train_sage {

// h_d = W_self x_d + W_neigh mean(x_s : s -> d) + b. Matches DGL's SAGEConv("mean").
class SageConvImpl : public torch::nn::Module {
 public:
  SageConvImpl(int64_t in_width, int64_t out_width);
  // `x`: [sources, in_width]. Returns [destinations, out_width]. For a gradient, `block` must stay
  // where it is until backward() is done.
  torch::Tensor forward(const graphd::Block& block, const torch::Tensor& x);

 private:
  torch::nn::Linear self_{nullptr}, neigh_{nullptr};
};
TORCH_MODULE(SageConv);

struct SageShape {
  int64_t in_width, hidden, classes;
  int layers;
  double dropout;  // applied to the input of every layer
  uint64_t dropout_seed;
  bool row_normalize;  // divide each node's features by their sum
};

// Its batches have one input feature.
class Sage : public examples::NodeModel {
 public:
  explicit Sage(const SageShape& shape);
  torch::Tensor Scores(const graphd::NodeBatch& batch) override;

 private:
  std::vector<SageConv> layers_;
  double dropout_;
  uint64_t next_dropout_key_;
  bool row_normalize_;
};

}  // namespace train_sage
