// SPDX-License-Identifier: Apache-2.0
#include "common/node_trainer.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "common/dataset.h"
#include "graphd/node_split.h"

namespace examples {
namespace {

double Seconds(NodeTrainer::Clock::time_point since) {
  return std::chrono::duration<double>(NodeTrainer::Clock::now() - since).count();
}

}  // namespace

NodeTrainer::NodeTrainer(graphd::DistGraph graph, NodeTask task, CommonOptions options,
                         TrainerGroup& group, Clock::time_point start)
    : graph_(std::move(graph)),
      task_(std::move(task)),
      options_(std::move(options)),
      group_(group) {
  train_.emplace(MakeLoader("train_mask", true));
  train_->StartEpoch(0);
  first_batch_ = train_->Next();
  attach_ms_ = 1e3 * Seconds(start);

  valid_.emplace(MakeLoader("val_mask", false));
  test_.emplace(MakeLoader("test_mask", false));
  steps_per_epoch_ = static_cast<int64_t>(group_.Max(static_cast<double>(train_->num_batches())));
  if (steps_per_epoch_ == 0) {
    throw graphd::Error(graphd::ErrorCode::kInvalid,
                        "graph '" + graph_.name() + "': train_mask is empty; training needs nodes");
  }
  num_classes_ = CountClasses(graph_.ndata(task_.label, task_.ntype), group_);
}

graphd::DistNodeDataLoader NodeTrainer::MakeLoader(const std::string& mask, bool training) const {
  graphd::LoaderOptions loader;
  loader.batch_size = training ? options_.batch_size : options_.batch_size_eval;
  loader.shuffle = training;
  loader.seed = options_.SeedOfTrainer();
  loader.num_workers = options_.num_workers;
  loader.ntype = task_.ntype;
  loader.input_features = task_.input_features;
  loader.seed_features = {task_.label};
  return graphd::DistNodeDataLoader(graph_,
                                    graphd::NodeSplit(graph_, graph_.ndata(mask, task_.ntype)),
                                    training ? task_.train_sampler : task_.eval_sampler, loader);
}

void NodeTrainer::Describe(const SharedOptimizer& optimizer) const {
  if (!group_.is_first()) return;
  std::printf(
      "%s: %lld nodes, %lld edges, %d edge types, %lld classes; %lld parameters; "
      "%d trainers, %lld steps per epoch\n",
      graph_.name().c_str(), static_cast<long long>(graph_.num_nodes()),
      static_cast<long long>(graph_.num_edges()), graph_.schema().num_etypes(),
      static_cast<long long>(num_classes_), static_cast<long long>(optimizer.num_parameters()),
      group_.world_size(), static_cast<long long>(steps_per_epoch_));
}

Counts NodeTrainer::Learn(const std::optional<graphd::NodeBatch>& batch) {
  namespace F = torch::nn::functional;
  if (!batch) return {};
  const torch::Tensor labels = AsLabels(batch->seed_features.front());
  const torch::Tensor scores = model_->Scores(*batch);
  const torch::Tensor loss = F::cross_entropy(
      scores, labels, F::CrossEntropyFuncOptions().ignore_index(-1).reduction(torch::kSum));
  loss.backward();
  return {.hits = scores.argmax(1).eq(labels).sum().item<double>(),
          .loss = loss.item<double>(),
          .items = labels.ge(0).sum().item<double>()};
}

void NodeTrainer::TrainEpoch(int epoch, SharedOptimizer& optimizer) {
  model_->train();
  const Clock::time_point start = Clock::now();
  if (epoch > 0) train_->StartEpoch(epoch);
  Counts sum;
  bool drained = false;
  for (int64_t step = 0; step < steps_per_epoch_; ++step) {
    std::optional<graphd::NodeBatch> batch = std::exchange(first_batch_, std::nullopt);
    if (!batch && !drained) batch = train_->Next();
    drained = !batch;
    optimizer.ZeroGradients();
    sum += optimizer.Step(Learn(batch));
    model_->AfterStep();
    if (group_.is_first() && options_.log_every > 0 && (step + 1) % options_.log_every == 0) {
      std::printf("epoch %d, step %lld of %lld: loss %.4f, accuracy %.4f, %.0f samples/s\n", epoch,
                  static_cast<long long>(step + 1), static_cast<long long>(steps_per_epoch_),
                  sum.loss / sum.items, sum.hits / sum.items, sum.items / Seconds(start));
      std::fflush(stdout);
    }
  }
  if (group_.is_first()) {
    const double seconds = Seconds(start);
    std::printf("epoch %d: loss %.4f, train accuracy %.4f, %.0f samples/s, %.2f s\n", epoch,
                sum.loss / sum.items, sum.hits / sum.items, sum.items / seconds, seconds);
    std::fflush(stdout);
  }
}

double NodeTrainer::Evaluate(graphd::DistNodeDataLoader& loader) {
  const torch::NoGradGuard no_gradients;
  model_->eval();
  torch::Tensor counts = torch::zeros({2}, torch::kFloat64);
  loader.StartEpoch(0);
  while (const std::optional<graphd::NodeBatch> batch = loader.Next()) {
    const torch::Tensor labels = AsLabels(batch->seed_features.front());
    counts[0] += model_->Scores(*batch).argmax(1).eq(labels).sum();
    counts[1] += labels.ge(0).sum();
  }
  group_.Sum(counts);
  return counts[0].item<double>() / counts[1].item<double>();
}

void NodeTrainer::Validate(int epoch) {
  const Clock::time_point start = Clock::now();
  const double valid = Evaluate(*valid_);
  // Without validation nodes, the latest epoch counts as the best one.
  const bool best = std::isnan(valid) || valid > progress_.best_valid;
  if (best) {
    progress_.best_valid = valid;
    progress_.test_of_best = Evaluate(*test_);
  }
  if (group_.is_first()) {
    std::printf("epoch %d: validation accuracy %.4f%s, %.2f s\n", epoch, valid,
                best ? ", the best so far" : "", Seconds(start));
    std::fflush(stdout);
  }
}

void NodeTrainer::Run(std::shared_ptr<NodeModel> model) {
  model_ = std::move(model);
  SharedOptimizer optimizer(model_->parameters(), options_, group_);
  Describe(optimizer);
  const JobCheckpoints checkpoints(graph_, options_, group_);
  if (const auto before = checkpoints.Resume(*model_, optimizer)) {
    progress_ = *before;
    first_batch_.reset();  // it belongs to the first epoch
  }
  for (int epoch = progress_.epochs; epoch < options_.num_epochs; ++epoch) {
    TrainEpoch(epoch, optimizer);
    const bool last = epoch + 1 == options_.num_epochs;
    if (last || (options_.eval_every > 0 && (epoch + 1) % options_.eval_every == 0)) {
      Validate(epoch);
    }
    progress_.epochs = epoch + 1;
    checkpoints.AfterEpoch(progress_, *model_, optimizer);
  }
  const double attach_ms = group_.Max(attach_ms_);  // maximum over trainers
  if (group_.is_first()) {
    std::printf("test accuracy: %.4f\nattach: %.1f ms\n", progress_.test_of_best, attach_ms);
    std::fflush(stdout);
  }
  group_.Barrier();  // keep the first trainer, which hosts the rendezvous, until all are done
}

}  // namespace examples
