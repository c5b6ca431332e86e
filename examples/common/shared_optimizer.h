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

// Adam on parameters that are equal in all trainers. In every step, each trainer adds the gradient
// of the loss summed over its own items. The gradients are summed over all trainers and divided by
// their total number of items, so that trainers with fewer items, or none, have the correct weight.
// Gradients and counts share one tensor, which needs one all-reduce per step. Used by one thread.
class SharedOptimizer {
 public:
  // `group` must outlive this object. Uses lr and weight_decay of the options.
  SharedOptimizer(const std::vector<torch::Tensor>& parameters, const CommonOptions& options,
                  TrainerGroup& group);

  void ZeroGradients() { flat_.zero_(); }
  // Updates the parameters with the gradients added since ZeroGradients(). Collective. `own`: this
  // trainer's counts; returns the sum over all trainers.
  Counts Step(const Counts& own);

  // Save or load Adam's moments and number of steps.
  void Save(torch::serialize::OutputArchive& archive) const { adam_.save(archive); }
  void Load(torch::serialize::InputArchive& archive) { adam_.load(archive); }

  int64_t num_parameters() const;

 private:
  TrainerGroup& group_;
  torch::optim::Adam adam_;
  torch::Tensor flat_;  // all gradients (views of this tensor), followed by the counts
};

}  // namespace examples
