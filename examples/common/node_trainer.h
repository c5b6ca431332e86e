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

// The classification of nodes of one type, which has a label and train_mask, val_mask and
// test_mask.
struct NodeTask {
  graphd::NodeTypeId ntype = 0;
  std::string label;
  std::vector<graphd::NodeFeature> input_features;  // fetched with each batch
  graphd::AnySampler train_sampler, eval_sampler;
};

class NodeModel : public torch::nn::Module {
 public:
  // Returns a row of class scores per seed. `batch` outlives the backward pass.
  virtual torch::Tensor Scores(const graphd::NodeBatch& batch) = 0;
  // Called by all trainers after each step, even without a batch: updates what the model learns in
  // addition to its parameters.
  virtual void AfterStep() {}
};

// A trainer of a job that classifies nodes. Each step takes a batch of its own training nodes.
// Used by one thread; all functions are collective.
class NodeTrainer {
 public:
  using Clock = std::chrono::steady_clock;

  // `group` must outlive the trainer. Reads the first batch; the time from `start` until then is
  // reported as the time to attach.
  NodeTrainer(graphd::DistGraph graph, NodeTask task, CommonOptions options, TrainerGroup& group,
              Clock::time_point start);

  int64_t num_classes() const noexcept { return num_classes_; }

  // Trains and evaluates; resumes from a checkpoint and makes checkpoints, if the options say so.
  // The first trainer prints loss and accuracy per epoch and, at the end, the test accuracy of the
  // parameters with the best accuracy on the validation nodes (of the last ones, if there are no
  // validation nodes). Returns when all trainers are done.
  void Run(std::shared_ptr<NodeModel> model);

 private:
  graphd::DistNodeDataLoader MakeLoader(const std::string& mask, bool training) const;
  void Describe(const SharedOptimizer& optimizer) const;
  void TrainEpoch(int epoch, SharedOptimizer& optimizer);
  // Adds to the gradients for this trainer's batch, if it has one.
  Counts Learn(const std::optional<graphd::NodeBatch>& batch);
  // Returns the accuracy of all trainers together on the nodes of a mask; NaN if it has no nodes.
  double Evaluate(graphd::DistNodeDataLoader& loader);
  // Evaluates on the validation nodes and, if the accuracy is the best so far, on the test nodes.
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
