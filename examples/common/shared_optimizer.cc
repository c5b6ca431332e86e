// SPDX-License-Identifier: Apache-2.0
#include "common/shared_optimizer.h"

namespace examples {
namespace {

constexpr int64_t kCounts = 3;

}  // namespace

SharedOptimizer::SharedOptimizer(const std::vector<torch::Tensor>& parameters,
                                 const CommonOptions& options, TrainerGroup& group)
    : group_(group),
      adam_(parameters, torch::optim::AdamOptions(options.lr).weight_decay(options.weight_decay)) {
  int64_t size = 0;
  for (const auto& parameter : parameters) size += parameter.numel();
  flat_ = torch::zeros({size + kCounts});
  int64_t begin = 0;
  for (const auto& parameter : parameters) {
    parameter.mutable_grad() = flat_.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    begin += parameter.numel();
  }
}

int64_t SharedOptimizer::num_parameters() const { return flat_.size(0) - kCounts; }

Counts SharedOptimizer::Step(const Counts& own) {
  torch::Tensor counts = flat_.narrow(0, num_parameters(), kCounts);
  counts[0] = own.hits;
  counts[1] = own.loss;
  counts[2] = own.items;
  group_.Sum(flat_);
  const Counts sum{counts[0].item<double>(), counts[1].item<double>(), counts[2].item<double>()};
  if (sum.items == 0) return sum;
  flat_.div_(sum.items);
  adam_.step();
  return sum;
}

}  // namespace examples
