// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
#include "common/progress.h"
#include "common/shared_optimizer.h"
#include "common/trainer_group.h"
#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"

namespace examples {

// Classifying nodes of one type, which has a label and train_mask, val_mask and test_mask.
struct NodeTask {
  graphd::NodeTypeId ntype = 0;
  std::string label;
  std::vector<graphd::NodeFeature> input_features;  // what the model wants with each batch
  graphd::AnySampler train_sampler, eval_sampler;
};

class NodeModel : public torch::nn::Module {
 public:
  // A row of class scores per seed. `batch` outlives the backward pass.
  virtual torch::Tensor Scores(const graphd::NodeBatch& batch) = 0;
  // Called by all trainers after each step, also by those that had no batch: for what the model
  // learns beside its parameters.
  virtual void AfterStep() {}
};

// One trainer of a job that classifies nodes: each step it takes a batch of its own training nodes.
// Used by one thread; everything is collective.
class NodeTrainer {
 public:
  using Clock = std::chrono::steady_clock;

  // `group` must outlive the trainer. Takes the first batch: what has passed since `start` until it
  // is in hand is reported as the time to attach.
  NodeTrainer(graphd::DistGraph graph, NodeTask task, CommonOptions options, TrainerGroup& group,
              Clock::time_point start);

  int64_t num_classes() const noexcept { return num_classes_; }

  // Trains and evaluates; makes checkpoints and begins with one, as the options say. The first
  // trainer prints loss and accuracy per epoch, and at the end the test accuracy of the parameters
  // with the best accuracy on the validation nodes (of the last ones, if there are no validation
  // nodes). Returns when all trainers are done.
  void Run(std::shared_ptr<NodeModel> model);

 private:
  graphd::DistNodeDataLoader MakeLoader(const std::string& mask, bool training) const;
  void Describe(const SharedOptimizer& optimizer) const;
  void TrainEpoch(int epoch, SharedOptimizer& optimizer);
  // Of this trainer's batch, if it has one: adds to the gradients.
  Counts Learn(const std::optional<graphd::NodeBatch>& batch);
  // Accuracy on the nodes of a mask, by all trainers together; NaN if it has none.
  double Evaluate(graphd::DistNodeDataLoader& loader);
  // Evaluates on the validation nodes and, if they were never better, on the test nodes.
  void Validate(int epoch);

  graphd::DistGraph graph_;
  NodeTask task_;
  CommonOptions options_;
  TrainerGroup& group_;
  std::shared_ptr<NodeModel> model_;
  std::optional<graphd::DistNodeDataLoader> train_, valid_, test_;
  std::optional<graphd::NodeBatch> first_batch_;
  double attach_ms_ = 0;
  int64_t num_classes_ = 0;
  int64_t steps_per_epoch_ = 0;
  Progress progress_;
};

}  // namespace examples
