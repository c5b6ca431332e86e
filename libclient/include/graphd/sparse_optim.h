// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "graphd/dist_embedding.h"
#include "graphd/export.h"

// Optimisers of embeddings. A step sends each gradient once, to the daemon that has the row and its
// state; the daemon applies it, and nothing of it is lost with a trainer or a daemon. Match
// dgl.distributed.optim, with these differences: SparseAdagrad keeps the sum of squares (DGL's CPU
// code keeps its root by mistake); Step forgets the gradients that it applied, so that none is
// applied twice; each trainer's step is applied by itself, unless the step is synchronous.
//
// Rules, per element, g being the gradient of a row (the mean over the row's occurrences in the
// step, or their sum), plus weight_decay times the row:
//   SparseSGD      w -= lr g
//   SparseAdagrad  G += g^2;  w -= lr g / (sqrt(G) + eps)
//                  row_wise: one G per row, G += mean(g^2) (DGL 0.6)
//   SparseAdam     s += 1; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
//                  w -= lr (m / (1 - beta1^s)) / (sqrt(v / (1 - beta2^s)) + eps)
//                  with s, m and v of the row alone: rows without gradient do not move ("lazy")
// Computed in float32, in an order that depends only on the order of steps: the same steps give the
// same bits for any number of the daemons' threads. The state lies with the table and is saved,
// restored and dropped with it.

namespace GRAPHD_EXPORT graphd {

// Who waits for whom in a step.
enum class StepMode {
  // Each trainer's gradients are applied as they come.
  kIndependent,
  // All trainers of the job call Step equally often; the gradients of one step of all of them are
  // applied together, as if one trainer had had them all, ranks in order (so duplicates count over
  // all trainers, as in DGL), and nobody sees them before everybody has called Step. A trainer
  // without gradients calls it too.
  kSynchronous,
};

struct StepOptions {
  float lr = 0.01F;
  float weight_decay = 0;
  bool sum_duplicates = false;  // false: mean, as DGL has it; true: sum, as dense autograd has it
  StepMode mode = StepMode::kIndependent;
  // Steps that may be under way when Step returns. 0: Step returns when its gradients are applied
  // and durable. Otherwise reads may miss the last `staleness` steps.
  int staleness = 0;
};

// Step and the setters: one thread at a time.
class SparseOptimizer {
 public:
  virtual ~SparseOptimizer();
  SparseOptimizer(const SparseOptimizer&) = delete;
  SparseOptimizer& operator=(const SparseOptimizer&) = delete;

  // Applies what Backward gave to the embeddings since the last step, and forgets it. An embedding
  // without gradients does not change. If it throws, the optimiser keeps what was not applied or
  // may not have been, and the next Step sends that first: nothing is lost, and nothing is applied
  // twice. A synchronous Step after one that threw only completes that one. Throws as
  // DistTensor::Write does; with staleness also what went wrong with earlier steps, and then it has
  // taken no gradients.
  void Step();
  // Forgets what Backward gave since the last step. Matches zero_grad; needed only for batches
  // whose gradients are thrown away.
  void ZeroGrad();
  // Waits for steps that are under way (staleness), and throws what went wrong with them; called
  // again, it sends them again.
  void Wait();

  // From the next step on.
  float lr() const noexcept;
  void set_lr(float lr);
  const std::vector<DistEmbedding*>& embeddings() const noexcept;

 protected:
  struct Impl;
  explicit SparseOptimizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The embeddings must outlive the optimiser. Constructors take the lease that writing needs. They
// throw Error(kInvalid) on an embedding that is named twice or has the state of another optimiser,
// or numbers that make no sense; otherwise as DistTensor::Acquire. The destructor waits for steps
// that are under way; call Wait to know what came of them.
class SparseSGD final : public SparseOptimizer {
 public:
  SparseSGD(std::vector<DistEmbedding*> embeddings, const StepOptions& options);
};

class SparseAdagrad final : public SparseOptimizer {
 public:
  SparseAdagrad(std::vector<DistEmbedding*> embeddings, const StepOptions& options,
                float eps = 1e-10F, bool row_wise = false);
};

class SparseAdam final : public SparseOptimizer {
 public:
  SparseAdam(std::vector<DistEmbedding*> embeddings, const StepOptions& options, float beta1 = 0.9F,
             float beta2 = 0.999F, float eps = 1e-8F);
};

}  // namespace graphd
