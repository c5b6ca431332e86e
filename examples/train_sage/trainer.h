// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"
#include "train_sage/dataset.h"
#include "train_sage/options.h"
#include "train_sage/sage.h"
#include "train_sage/trainer_group.h"

namespace train_sage {

// One trainer of a job. Every step, each trainer takes a batch of its own training nodes, and the
// gradients of all are summed and divided by the number of nodes in all batches together, so that
// a trainer with fewer nodes, or none left, weighs what it should. Used by one thread.
class Trainer {
 public:
  // `group` must outlive the trainer. Connects and takes the first batch (see attach_ms).
  Trainer(TrainOptions options, TrainerGroup& group);

  // Trains, evaluates, and returns the test accuracy of the parameters with the best accuracy on
  // the validation nodes (of the last ones, if there are no validation nodes). Collective.
  double Run();

  // Milliseconds from the call of Initialize() to the first batch in hand.
  double attach_ms() const noexcept { return attach_ms_; }

 private:
  // Sums over the seeds that have a label.
  struct Counts {
    double correct = 0, loss = 0, seeds = 0;
  };

  graphd::DistNodeDataLoader MakeLoader(const std::string& mask, bool training) const;
  void BuildModel();
  void TrainEpoch(int epoch);
  void Step(const std::optional<graphd::MiniBatch>& batch, Counts& epoch);
  // Accuracy on the nodes of a mask, by all trainers together; NaN if it has none.
  double Evaluate(graphd::DistNodeDataLoader& loader);
  // Evaluates on the validation nodes and, if they were never better, on the test nodes.
  void Validate(int epoch);
  torch::Tensor Features(const graphd::MiniBatch& batch) const;

  TrainOptions options_;
  TrainerGroup& group_;
  std::optional<graphd::DistGraph> graph_;
  Dataset data_;
  std::optional<graphd::DistNodeDataLoader> train_, valid_, test_;
  std::optional<graphd::MiniBatch> first_batch_;
  double attach_ms_ = 0;
  Sage model_{nullptr};
  std::unique_ptr<torch::optim::Adam> optimizer_;
  // All gradients, and behind them three counts, in one piece: one all-reduce per step.
  torch::Tensor flat_;
  int64_t steps_per_epoch_ = 0;
  double best_valid_ = -1, test_of_best_ = 0;
};

}  // namespace train_sage
