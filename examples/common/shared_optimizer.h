// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <vector>

#include "common/options.h"
#include "common/trainer_group.h"

namespace examples {

// Sums over items (nodes with a label, pairs of nodes).
struct Counts {
  double hits = 0, loss = 0, items = 0;
  Counts& operator+=(const Counts& other) {
    hits += other.hits, loss += other.loss, items += other.items;
    return *this;
  }
};

// Adam on parameters that all trainers have alike. Every step, each trainer adds the gradient of
// the loss summed over its own items; the gradients of all are summed and divided by the number of
// items of all together, so that a trainer with fewer items, or none, weighs what it should.
// Gradients and counts lie in one tensor: one all-reduce per step. Used by one thread.
class SharedOptimizer {
 public:
  // `group` must outlive it. Takes lr and weight_decay of the options.
  SharedOptimizer(const std::vector<torch::Tensor>& parameters, const CommonOptions& options,
                  TrainerGroup& group);

  void ZeroGradients() { flat_.zero_(); }
  // Moves the parameters by what backward() left since ZeroGradients(). Collective. `own`: of this
  // trainer; returns the sum of all trainers'.
  Counts Step(const Counts& own);

  // Adam's moments and count of steps.
  void Save(torch::serialize::OutputArchive& archive) const { adam_.save(archive); }
  void Load(torch::serialize::InputArchive& archive) { adam_.load(archive); }

  int64_t num_parameters() const;

 private:
  TrainerGroup& group_;
  torch::optim::Adam adam_;
  torch::Tensor flat_;  // all gradients, which are views of it, and behind them the counts
};

}  // namespace examples
