// SPDX-License-Identifier: Apache-2.0
#include "train_sage/sage.h"

#include "train_sage/dropout.h"
#include "train_sage/mean_neighbors.h"

namespace train_sage {
namespace {

Csc CscOf(const graphd::BlockEdges& edges) { return {edges.indptr, edges.indices}; }

// The mean over neighbours as one differentiable operation. The backward pass runs only if `x`
// wants a gradient, so the input layer, where most edges are, has none.
class MeanNeighbors : public torch::autograd::Function<MeanNeighbors> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const graphd::BlockEdges* edges) {
    const auto destinations = static_cast<int64_t>(edges->indptr.size()) - 1;
    torch::Tensor out = torch::empty({destinations, x.size(1)}, x.options());
    MeanOfNeighbors(CscOf(*edges), x.size(1), x.data_ptr<float>(), out.data_ptr<float>());
    context->saved_data["edges"] = reinterpret_cast<int64_t>(edges);
    context->saved_data["sources"] = x.size(0);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto* edges =
        reinterpret_cast<const graphd::BlockEdges*>(context->saved_data["edges"].toInt());
    const torch::Tensor grad_out = grads[0].contiguous();
    torch::Tensor grad_x = torch::zeros({context->saved_data["sources"].toInt(), grad_out.size(1)},
                                        grad_out.options());
    SpreadToNeighbors(CscOf(*edges), grad_out.size(1), grad_out.data_ptr<float>(),
                      grad_x.data_ptr<float>());
    return {grad_x, torch::Tensor()};
  }
};

torch::Tensor Dropped(const torch::Tensor& x, int64_t key, double p) {
  const torch::Tensor in = x.contiguous();
  torch::Tensor out = torch::empty_like(in);
  const auto size = static_cast<size_t>(in.numel());
  Dropout(static_cast<uint64_t>(key), p, {in.data_ptr<float>(), size},
          {out.data_ptr<float>(), size});
  return out;
}

class KeyedDropout : public torch::autograd::Function<KeyedDropout> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               int64_t key, double p) {
    context->saved_data["key"] = key;
    context->saved_data["p"] = p;
    return Dropped(x, key, p);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    return {
        Dropped(grads[0], context->saved_data["key"].toInt(), context->saved_data["p"].toDouble()),
        torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

SageConvImpl::SageConvImpl(int64_t in_width, int64_t out_width) {
  self_ = register_module("self", torch::nn::Linear(in_width, out_width));
  neigh_ = register_module(
      "neigh", torch::nn::Linear(torch::nn::LinearOptions(in_width, out_width).bias(false)));
  const double gain = torch::nn::init::calculate_gain(torch::kReLU);
  torch::nn::init::xavier_uniform_(self_->weight, gain);
  torch::nn::init::xavier_uniform_(neigh_->weight, gain);
}

torch::Tensor SageConvImpl::forward(const graphd::Block& block, const torch::Tensor& x) {
  const torch::Tensor input = x.contiguous();
  const torch::Tensor mean = MeanNeighbors::apply(input, &block.edges.front());
  return self_(input.narrow(0, 0, block.num_dst.front())) + neigh_(mean);
}

SageImpl::SageImpl(const SageShape& shape)
    : dropout_(shape.dropout), next_dropout_key_(shape.dropout_seed << 32) {
  for (int i = 0; i < shape.layers; ++i) {
    const int64_t in = i == 0 ? shape.in_width : shape.hidden;
    const int64_t out = i + 1 == shape.layers ? shape.classes : shape.hidden;
    layers_.push_back(register_module("layer" + std::to_string(i), SageConv(in, out)));
  }
}

torch::Tensor SageImpl::forward(const std::vector<graphd::Block>& blocks, torch::Tensor x) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (is_training() && dropout_ > 0) {
      x = KeyedDropout::apply(x, static_cast<int64_t>(next_dropout_key_++), dropout_);
    }
    x = layers_[i](blocks[i], x);
    if (i + 1 < layers_.size()) x = torch::relu(x);
  }
  return x;
}

}  // namespace train_sage
