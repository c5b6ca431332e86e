// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "graphd/dist_embedding.h"
#include "graphd/export.h"

// Sparse optimisers of embeddings. A step sends each gradient once, to the daemon that stores the
// row and its optimiser state, and the daemon applies it; no update is lost when a trainer or a
// daemon exits. They match dgl.distributed.optim, with these differences:
// - SparseAdagrad keeps the sum of squares. (DGL's CPU code keeps its root by mistake.)
// - Step drops the gradients that it applied, so that none is applied twice.
// - Each trainer's step is applied separately, unless the step is synchronous.
//
// The update rules per element, where g is the gradient of a row (the mean or the sum over the
// occurrences of the row in the step) plus weight_decay times the row:
//
//   SparseSGD      w -= lr g
//   SparseAdagrad  G += g^2;  w -= lr g / (sqrt(G) + eps)
//                  row_wise: one G per row, G += mean(g^2) (DGL 0.6)
//   SparseAdam     s += 1; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
//                  w -= lr (m / (1 - beta1^s)) / (sqrt(v / (1 - beta2^s)) + eps)
//                  with s, m and v per row: rows without gradient do not move ("lazy")
//
// Updates are computed in float32, in an order that depends only on the order of steps: the same
// steps give the same bits for any number of threads of the daemons. The optimiser state is stored
// with the table and is saved, restored and dropped with it.

namespace GRAPHD_EXPORT graphd {

// The way in which the steps of the trainers of a job are combined.
enum class StepMode {
  // The gradients of each trainer are applied as they arrive.
  kIndependent,
  // All trainers of the job call Step equally often, also those without gradients. The gradients of
  // one step of all trainers are applied together, as if one trainer had computed them in order of
  // rank, so duplicates are combined over all trainers, as in DGL. The result is not visible before
  // all trainers have called Step.
  kSynchronous,
};

// The settings of an optimiser.
struct StepOptions {
  float lr = 0.01F;  // learning rate
  float weight_decay = 0;
  // The rule for the gradients of a row that occurs several times in a step. False: their mean is
  // applied, as in DGL; true: their sum, as in dense autograd.
  bool sum_duplicates = false;
  StepMode mode = StepMode::kIndependent;
  // The number of steps that may be running when Step returns. 0: Step returns when its gradients
  // are applied and durable. Otherwise reads may miss the last `staleness` steps.
  int staleness = 0;
};

// The base class of the optimisers. An object must be used by one thread at a time.
//
// A constructor waits until the memory of each new embedding is prepared, which takes about 0.1 s
// per GB, but at most 5 s for each embedding. If it did not, the first steps would wait instead.
class SparseOptimizer {
 public:
  virtual ~SparseOptimizer();
  SparseOptimizer(const SparseOptimizer&) = delete;
  SparseOptimizer& operator=(const SparseOptimizer&) = delete;

  // Applies the gradients that Backward added to the embeddings since the last step, and drops
  // them. Embeddings without gradients do not change. If it throws, the optimiser keeps the
  // gradients that were not applied, or may not have been applied, and the next Step sends them
  // first: none is lost, and none is applied twice. In synchronous mode without staleness, the Step
  // that follows a failed one only completes the failed one, and leaves the new gradients in the
  // embeddings. Throws as DistTensor::Write does; with staleness it also throws the errors of
  // earlier steps. When it throws the error of an earlier step, it leaves the new gradients in the
  // embeddings for the next Step.
  void Step();
  // Drops the gradients that Backward added since the last step. Matches zero_grad. It is needed
  // only for batches whose gradients are discarded.
  void ZeroGrad();
  // Waits for running steps (see staleness) and throws their errors; another call sends failed
  // steps again.
  void Wait();

  // Returns the learning rate.
  float lr() const noexcept;
  // Sets the learning rate of the next steps. Throws Error(kInvalid) if it is not finite.
  void set_lr(float lr);
  // Returns the embeddings that the optimiser updates.
  const std::vector<DistEmbedding*>& embeddings() const noexcept;

 protected:
  struct Impl;
  explicit SparseOptimizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Stochastic gradient descent. The embeddings must outlive the optimiser. The constructor takes the
// leases of the embeddings. It throws Error(kInvalid) on an embedding that is given twice or has
// the state of another optimiser, and on numbers out of range; otherwise it throws as
// DistTensor::Acquire does. The destructor waits for running steps; call Wait to learn whether they
// succeeded.
class SparseSGD final : public SparseOptimizer {
 public:
  SparseSGD(std::vector<DistEmbedding*> embeddings, const StepOptions& options);
};

// Adagrad, with one sum of squares per element or (row_wise) per row. Otherwise as SparseSGD.
class SparseAdagrad final : public SparseOptimizer {
 public:
  SparseAdagrad(std::vector<DistEmbedding*> embeddings, const StepOptions& options,
                float eps = 1e-10F, bool row_wise = false);
};

// Adam that updates only the rows with gradients. Otherwise as SparseSGD.
class SparseAdam final : public SparseOptimizer {
 public:
  SparseAdam(std::vector<DistEmbedding*> embeddings, const StepOptions& options, float beta1 = 0.9F,
             float beta2 = 0.999F, float eps = 1e-8F);
};

}  // namespace graphd
