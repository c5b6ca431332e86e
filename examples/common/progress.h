// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <optional>
#include <string>

#include "common/options.h"
#include "common/shared_optimizer.h"
#include "common/trainer_group.h"
#include "graphd/dist_graph.h"

namespace examples {

// The progress of a job.
struct Progress {
  int epochs = 0;  // completed
  double best_valid = -1, test_of_best = 0;
};

// The checkpoints of a job: NAME-1, NAME-2 ..., by the number of completed epochs. Each contains
// the dense parameters and their optimiser's state, the job's progress, and the persistent tensors,
// all at the same moment. All functions are collective.
class JobCheckpoints {
 public:
  // `group` must outlive this object.
  JobCheckpoints(graphd::DistGraph graph, const CommonOptions& options, TrainerGroup& group)
      : graph_(std::move(graph)), options_(options), group_(group) {}

  // Makes a checkpoint if options.checkpoint_every is set and divides the number of epochs.
  void AfterEpoch(const Progress& progress, const torch::nn::Module& model,
                  const SharedOptimizer& optimizer) const;
  // With options.resume, restores the latest checkpoint, if there is one.
  std::optional<Progress> Resume(torch::nn::Module& model, SharedOptimizer& optimizer) const;

 private:
  void Make(const Progress& progress, const torch::nn::Module& model,
            const SharedOptimizer& optimizer) const;

  graphd::DistGraph graph_;
  const CommonOptions options_;
  TrainerGroup& group_;
};

}  // namespace examples
