// SPDX-License-Identifier: Apache-2.0
#include "common/ops.h"

#include "common/dropout.h"
#include "common/mean_neighbors.h"

namespace examples {
namespace {

Csc CscOf(const graphd::BlockEdges& edges) { return {edges.indptr, edges.indices}; }

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

torch::Tensor MeanOverNeighbors(const torch::Tensor& x, const graphd::BlockEdges& edges) {
  return MeanNeighbors::apply(x.contiguous(), &edges);
}

torch::Tensor DropoutByKey(const torch::Tensor& x, uint64_t key, double p) {
  return KeyedDropout::apply(x, static_cast<int64_t>(key), p);
}

}  // namespace examples
