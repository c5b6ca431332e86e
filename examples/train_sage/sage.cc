// SPDX-License-Identifier: Apache-2.0
#include "train_sage/sage.h"

#include "common/dataset.h"
#include "common/ops.h"

namespace train_sage {

SageConvImpl::SageConvImpl(int64_t in_width, int64_t out_width) {
  self_ = register_module("self", torch::nn::Linear(in_width, out_width));
  neigh_ = register_module(
      "neigh", torch::nn::Linear(torch::nn::LinearOptions(in_width, out_width).bias(false)));
  const double gain = torch::nn::init::calculate_gain(torch::kReLU);
  torch::nn::init::xavier_uniform_(self_->weight, gain);
  torch::nn::init::xavier_uniform_(neigh_->weight, gain);
}

torch::Tensor SageConvImpl::forward(const graphd::Block& block, const torch::Tensor& x) {
  const torch::Tensor mean = examples::MeanOverNeighbors(x, block.edges.front());
  return self_(x.narrow(0, 0, block.num_dst.front())) + neigh_(mean);
}

Sage::Sage(const SageShape& shape)
    : dropout_(shape.dropout),
      next_dropout_key_(shape.dropout_seed << 32),
      row_normalize_(shape.row_normalize) {
  for (int i = 0; i < shape.layers; ++i) {
    const int64_t in = i == 0 ? shape.in_width : shape.hidden;
    const int64_t out = i + 1 == shape.layers ? shape.classes : shape.hidden;
    layers_.push_back(register_module("layer" + std::to_string(i), SageConv(in, out)));
  }
}

torch::Tensor Sage::Scores(const graphd::NodeBatch& batch) {
  torch::Tensor x = examples::AsFeatures(batch.input_features.front());
  if (row_normalize_) x = x / x.abs().sum(1, /*keepdim=*/true).clamp_min(1e-12);
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (is_training() && dropout_ > 0) {
      x = examples::DropoutByKey(x, next_dropout_key_++, dropout_);
    }
    x = layers_[i](batch.blocks[i], x);
    if (i + 1 < layers_.size()) x = torch::relu(x);
  }
  return x;
}

}  // namespace train_sage
