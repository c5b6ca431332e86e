// SPDX-License-Identifier: Apache-2.0
#include "common/sage.h"

#include <string>

#include "common/ops.h"

namespace examples {

SageConvImpl::SageConvImpl(int64_t in_width, int64_t out_width) {
  self_ = register_module("self", torch::nn::Linear(in_width, out_width));
  neigh_ = register_module(
      "neigh", torch::nn::Linear(torch::nn::LinearOptions(in_width, out_width).bias(false)));
  const double gain = torch::nn::init::calculate_gain(torch::kReLU);
  torch::nn::init::xavier_uniform_(self_->weight, gain);
  torch::nn::init::xavier_uniform_(neigh_->weight, gain);
}

torch::Tensor SageConvImpl::forward(const graphd::Block& block, const torch::Tensor& x) {
  const torch::Tensor mean = MeanOverNeighbors(x, block.edges.front());
  return self_(x.narrow(0, 0, block.num_dst.front())) + neigh_(mean);
}

SageLayersImpl::SageLayersImpl(const SageShape& shape)
    : dropout_(shape.dropout), dropout_seed_(shape.dropout_seed << 32) {
  for (int i = 0; i < shape.layers; ++i) {
    const int64_t in = i == 0 ? shape.in_width : shape.hidden;
    const int64_t out = i + 1 == shape.layers ? shape.out_width : shape.hidden;
    layers_.push_back(register_module("layer" + std::to_string(i), SageConv(in, out)));
  }
  draws_ = register_buffer("draws", torch::zeros({1}, torch::kInt64));
}

torch::Tensor SageLayersImpl::forward(const std::vector<graphd::Block>& blocks, torch::Tensor x) {
  int64_t& draws = *draws_.data_ptr<int64_t>();
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (is_training() && dropout_ > 0) {
      x = DropoutByKey(x, dropout_seed_ + static_cast<uint64_t>(draws++), dropout_);
    }
    x = layers_[i](blocks[i], x);
    if (i + 1 < layers_.size()) x = torch::relu(x);
  }
  return x;
}

}  // namespace examples
