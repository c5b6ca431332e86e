// SPDX-License-Identifier: Apache-2.0
#include "graphd/sparse_optim.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "base/check.h"
#include "base/strings.h"
#include "client/tensors/step_queue.h"
#include "client/tensors/table_source.h"

namespace graphd {
namespace {

std::shared_ptr<TableSource> TableOf(const DistEmbedding& embedding) {
  auto table = std::dynamic_pointer_cast<TableSource>(embedding.weight().source());
  GRAPHD_CHECK(table != nullptr, "an embedding is made as a table");
  return table;
}

UpdateRule RuleOf(UpdateKind kind, const StepOptions& options) {
  UpdateRule rule;
  rule.kind = kind;
  rule.mean_of_duplicates = options.sum_duplicates ? 0 : 1;
  rule.lr = options.lr;
  rule.weight_decay = options.weight_decay;
  return rule;
}

}  // namespace

struct SparseOptimizer::Impl {
  // An embedding with its table.
  struct Target {
    std::shared_ptr<TableSource> table;
    PushChannels channels;
    std::vector<uint64_t> next_steps;  // synchronous steps: their numbers, by partition
  };

  Impl(std::vector<DistEmbedding*> of, const StepOptions& with, const UpdateRule& by,
       OptimizerState state)
      : embeddings(std::move(of)), options(with), rule(by), steps(with.staleness) {
    store::CheckRule(rule, DType::kFloat32, state);
    if (options.staleness < 0) {
      Throw(ErrorCode::kInvalid, "staleness ", options.staleness, " is negative");
    }
    std::set<DistEmbedding*> seen;
    for (DistEmbedding* embedding : embeddings) {
      if (embedding == nullptr)
        Throw(ErrorCode::kInvalid, "an embedding of an optimiser is a null pointer");
      if (!seen.insert(embedding).second) {
        Throw(ErrorCode::kInvalid, "embedding '", embedding->name(),
              "' is named twice; an optimiser takes each once");
      }
    }
    for (DistEmbedding* embedding : embeddings) Prepare(*embedding, state);
  }

  void Prepare(const DistEmbedding& embedding, OptimizerState state) {
    auto table = TableOf(embedding);
    table->PrepareState(state);
    std::vector<uint64_t> next(table->num_parts());
    if (is_synchronous()) {
      for (size_t p = 0; p < next.size(); p++) {
        const auto part = static_cast<PartId>(p);
        next[p] = table->port(part).LastStep(table->table(part)) + 1;
      }
    }
    PushChannels channels(table->num_parts());
    targets.push_back({std::move(table), std::move(channels), std::move(next)});
  }

  bool is_synchronous() const noexcept { return options.mode == StepMode::kSynchronous; }

  // Takes the embeddings' gradients as a step. On error, gradients are returned to the embeddings.
  std::unique_ptr<PendingStep> TakeStep() {
    auto step = std::make_unique<PendingStep>();
    try {
      for (size_t e = 0; e < embeddings.size(); e++) {
        DistEmbedding::Gradients gradients = embeddings[e]->Take();
        if (gradients.ids.empty() && !is_synchronous()) continue;
        step->gradients.push_back(std::move(gradients));
        step->of.push_back(embeddings[e]);
        step->changes.push_back(ChangeOf(targets[e], step->gradients.back()));
      }
    } catch (...) {
      for (size_t i = 0; i < step->of.size(); i++) {
        step->of[i]->PutBack(std::move(step->gradients[i]));
      }
      throw;
    }
    for (Target& target : targets) {
      for (uint64_t& next : target.next_steps) next++;
      step->timeout = target.table->access().timeout();
    }
    return step;
  }

  TableChange ChangeOf(Target& target, const DistEmbedding::Gradients& gradients) {
    const auto* payload = reinterpret_cast<const std::byte*>(gradients.all().data());
    if (is_synchronous()) {
      return MakeStagedChange(*target.table, rule, gradients.ids, payload, target.next_steps);
    }
    return MakeChange(*target.table, target.channels, rule, gradients.ids, payload);
  }

  const SessionProcess process;  // the process that has the thread of `steps`
  const std::vector<DistEmbedding*> embeddings;
  const StepOptions options;
  UpdateRule rule;
  std::deque<Target> targets;  // a deque, because running changes refer to its elements
  StepQueue steps;             // last, because its thread uses the other members
};

SparseOptimizer::SparseOptimizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SparseOptimizer::~SparseOptimizer() {
  // A forked child has neither the thread of the queue nor its steps.
  if (!impl_->process.is_this()) static_cast<void>(impl_.release());
}

void SparseOptimizer::Step() {
  impl_->process.Check();
  const bool had_failed = impl_->steps.Resume();
  // All trainers of a synchronous job call Step equally often, so this call completes the failed
  // step.
  if (had_failed && impl_->is_synchronous()) return;
  impl_->steps.Add(impl_->TakeStep());
}

void SparseOptimizer::ZeroGrad() {
  for (DistEmbedding* embedding : impl_->embeddings) embedding->ZeroGrad();
}

void SparseOptimizer::Wait() {
  impl_->process.Check();
  impl_->steps.Wait();
}

float SparseOptimizer::lr() const noexcept { return impl_->rule.lr; }

void SparseOptimizer::set_lr(float lr) {
  if (!std::isfinite(lr)) Throw(ErrorCode::kInvalid, "the learning rate can't be ", lr);
  impl_->rule.lr = lr;
}

const std::vector<DistEmbedding*>& SparseOptimizer::embeddings() const noexcept {
  return impl_->embeddings;
}

SparseSGD::SparseSGD(std::vector<DistEmbedding*> embeddings, const StepOptions& options)
    : SparseOptimizer(std::make_unique<Impl>(std::move(embeddings), options,
                                             RuleOf(UpdateKind::kSgd, options),
                                             OptimizerState::kNone)) {}

SparseAdagrad::SparseAdagrad(std::vector<DistEmbedding*> embeddings, const StepOptions& options,
                             float eps, bool row_wise)
    : SparseOptimizer([&] {
        UpdateRule rule =
            RuleOf(row_wise ? UpdateKind::kRowAdagrad : UpdateKind::kAdagrad, options);
        rule.eps = eps;
        return std::make_unique<Impl>(
            std::move(embeddings), options, rule,
            row_wise ? OptimizerState::kRowAdagrad : OptimizerState::kAdagrad);
      }()) {}

SparseAdam::SparseAdam(std::vector<DistEmbedding*> embeddings, const StepOptions& options,
                       float beta1, float beta2, float eps)
    : SparseOptimizer([&] {
        UpdateRule rule = RuleOf(UpdateKind::kAdam, options);
        rule.beta1 = beta1;
        rule.beta2 = beta2;
        rule.eps = eps;
        return std::make_unique<Impl>(std::move(embeddings), options, rule, OptimizerState::kAdam);
      }()) {}

}  // namespace graphd
