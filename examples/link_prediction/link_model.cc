// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/link_model.h"

#include <cmath>

namespace link_prediction {
namespace {

torch::nn::Linear WithoutBias(int64_t width) {
  return torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(false));
}

}  // namespace

LinkModel::LinkModel(const graphd::Schema& schema, const examples::RgcnShape& shape,
                     examples::TypedInputs inputs)
    : inputs_(std::move(inputs)) {
  constexpr int64_t kBiasWidth = 16;
  rgcn_ = register_module("rgcn", examples::Rgcn(schema, shape));
  source_ = register_module("source", WithoutBias(shape.out));
  destination_ = register_module("destination", WithoutBias(shape.out));
  bias_ = register_module("bias",
                          torch::nn::Sequential(torch::nn::Linear(1, kBiasWidth), torch::nn::ReLU(),
                                                torch::nn::Linear(kBiasWidth, 1)));
}

std::vector<torch::Tensor> LinkModel::Encode(const graphd::MiniBatch& batch) {
  return rgcn_(batch.blocks, examples::InputRows(inputs_, batch));
}

torch::Tensor LinkModel::AsSource(const torch::Tensor& h) {
  return source_(h) / std::sqrt(static_cast<double>(h.size(1)));
}

torch::Tensor LinkModel::Bias(const torch::Tensor& popularity) {
  return bias_->forward(torch::log1p(popularity).unsqueeze(1)).squeeze(1);
}

}  // namespace link_prediction
