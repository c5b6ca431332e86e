// SPDX-License-Identifier: Apache-2.0
#include "common/learnt_rows.h"

#include <cstring>
#include <memory>
#include <utility>

namespace examples {
namespace {

// Returns a view of the tensor's memory.
torch::Tensor Shown(const graphd::Tensor& rows) {
  auto owner = std::make_shared<graphd::Tensor>(rows);
  return torch::from_blob(
      owner->data(), {rows.shape()[0], rows.shape()[1]}, [owner](void*) mutable { owner.reset(); },
      torch::kFloat32);
}

class LookUp : public torch::autograd::Function<LookUp> {
 public:
  // `anchor` requires a gradient, which makes libtorch call backward(); it receives none.
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& /*anchor*/, graphd::DistEmbedding* embedding,
                               std::span<const int64_t> ids) {
    torch::Tensor kept = torch::empty({static_cast<int64_t>(ids.size())}, torch::kInt64);
    if (!ids.empty()) std::memcpy(kept.data_ptr<int64_t>(), ids.data(), ids.size_bytes());
    context->saved_data["ids"] = kept;
    context->saved_data["embedding"] = reinterpret_cast<int64_t>(embedding);
    return Shown(embedding->Forward(ids));
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    auto* embedding = reinterpret_cast<graphd::DistEmbedding*>(  // stored by forward()
        context->saved_data["embedding"].toInt());
    const torch::Tensor ids = context->saved_data["ids"].toTensor();
    torch::Tensor gradient = gradients[0].contiguous();
    graphd::Tensor view(graphd::DType::kFloat32, {gradient.size(0), gradient.size(1)},
                        reinterpret_cast<std::byte*>(gradient.data_ptr<float>()),
                        std::make_shared<torch::Tensor>(gradient));
    embedding->Backward({ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel())},
                        std::move(view));
    return {torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor LearntRows(graphd::DistEmbedding& embedding, std::span<const int64_t> ids) {
  if (!torch::GradMode::is_enabled()) return Shown(embedding.Forward(ids));
  const torch::Tensor anchor = torch::zeros({1}).requires_grad_();
  return LookUp::apply(anchor, &embedding, ids);
}

}  // namespace examples
