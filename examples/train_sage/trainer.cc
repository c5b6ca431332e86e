// SPDX-License-Identifier: Apache-2.0
#include "train_sage/trainer.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "graphd/node_split.h"

namespace train_sage {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

constexpr int64_t kCounts = 3;

}  // namespace

Trainer::Trainer(TrainOptions options, TrainerGroup& group)
    : options_(std::move(options)), group_(group) {
  const Clock::time_point start = Clock::now();
  graph_.emplace(graphd::Initialize(options_.session), options_.graph_name);
  data_ = DescribeDataset(*graph_, options_);
  train_.emplace(MakeLoader("train_mask", true));
  train_->StartEpoch(0);
  first_batch_ = train_->Next();
  attach_ms_ = 1e3 * Seconds(start);

  valid_.emplace(MakeLoader("val_mask", false));
  test_.emplace(MakeLoader("test_mask", false));
  steps_per_epoch_ = static_cast<int64_t>(group_.Max(static_cast<double>(train_->num_batches())));
  if (steps_per_epoch_ == 0) {
    throw graphd::Error(graphd::ErrorCode::kInvalid,
                        "graph '" + graph_->name() + "': train_mask is empty, nothing to train on");
  }
  BuildModel();
}

graphd::DistNodeDataLoader Trainer::MakeLoader(const std::string& mask, bool training) const {
  graphd::LoaderOptions loader;
  loader.batch_size = training ? options_.batch_size : options_.batch_size_eval;
  loader.shuffle = training;
  // Trainers that share seeds would otherwise share samples.
  loader.seed = options_.seed * 1'000'003 + static_cast<uint64_t>(group_.rank());
  loader.num_workers = options_.num_workers;
  loader.input_features = {data_.feature};
  loader.seed_features = {data_.label};
  return graphd::DistNodeDataLoader(
      *graph_, graphd::NodeSplit(*graph_, graph_->ndata(mask)),
      graphd::NeighborSampler(training ? options_.fan_out : options_.eval_fan_out), loader);
}

void Trainer::BuildModel() {
  const int64_t classes = CountClasses(*graph_, data_, group_);
  torch::manual_seed(options_.seed);  // the same weights everywhere
  // but every trainer drops its own
  const uint64_t dropout_seed = options_.seed * 1'000'003 + static_cast<uint64_t>(group_.rank());
  model_ = Sage(SageShape{data_.width, options_.num_hidden, classes, options_.num_layers,
                          options_.dropout, dropout_seed});

  int64_t size = 0;
  for (const auto& parameter : model_->parameters()) size += parameter.numel();
  flat_ = torch::zeros({size + kCounts});
  int64_t begin = 0;
  for (auto& parameter : model_->parameters()) {
    parameter.mutable_grad() = flat_.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    begin += parameter.numel();
  }
  optimizer_ = std::make_unique<torch::optim::Adam>(
      model_->parameters(),
      torch::optim::AdamOptions(options_.lr).weight_decay(options_.weight_decay));
  if (group_.is_first()) {
    std::printf(
        "%s: %lld nodes, %lld edges, %lld features, %lld classes; %lld parameters; "
        "%d trainers, %lld steps per epoch\n",
        graph_->name().c_str(), static_cast<long long>(graph_->num_nodes()),
        static_cast<long long>(graph_->num_edges()), static_cast<long long>(data_.width),
        static_cast<long long>(classes), static_cast<long long>(size), group_.world_size(),
        static_cast<long long>(steps_per_epoch_));
  }
}

torch::Tensor Trainer::Features(const graphd::MiniBatch& batch) const {
  torch::Tensor x = AsFeatures(batch.input_features.front());
  if (options_.row_normalize) x = x / x.abs().sum(1, /*keepdim=*/true).clamp_min(1e-12);
  return x;
}

void Trainer::Step(const std::optional<graphd::MiniBatch>& batch, Counts& epoch) {
  namespace F = torch::nn::functional;
  flat_.zero_();  // the gradients are views of it
  torch::Tensor counts = flat_.narrow(0, flat_.size(0) - kCounts, kCounts);
  if (batch) {
    const torch::Tensor labels = AsLabels(batch->seed_features.front());
    const torch::Tensor scores = model_->forward(batch->blocks, Features(*batch));
    const torch::Tensor loss = F::cross_entropy(
        scores, labels, F::CrossEntropyFuncOptions().ignore_index(-1).reduction(torch::kSum));
    loss.backward();
    counts[0] = scores.argmax(1).eq(labels).sum().to(torch::kFloat32);
    counts[1] = loss.detach();
    counts[2] = labels.ge(0).sum().to(torch::kFloat32);
  }
  group_.Sum(flat_);
  const auto seeds = counts[2].item<double>();
  epoch.correct += counts[0].item<double>();
  epoch.loss += counts[1].item<double>();
  epoch.seeds += seeds;
  if (seeds == 0) return;
  flat_.div_(seeds);
  optimizer_->step();
}

void Trainer::TrainEpoch(int epoch) {
  model_->train();
  const Clock::time_point start = Clock::now();
  if (epoch > 0) train_->StartEpoch(epoch);
  Counts sum;
  bool drained = false;
  for (int64_t step = 0; step < steps_per_epoch_; ++step) {
    std::optional<graphd::MiniBatch> batch = std::exchange(first_batch_, std::nullopt);
    if (!batch && !drained) batch = train_->Next();
    drained = !batch;
    Step(batch, sum);
    if (group_.is_first() && options_.log_every > 0 && (step + 1) % options_.log_every == 0) {
      std::printf("epoch %d, step %lld of %lld: loss %.4f, accuracy %.4f, %.0f samples/s\n", epoch,
                  static_cast<long long>(step + 1), static_cast<long long>(steps_per_epoch_),
                  sum.loss / sum.seeds, sum.correct / sum.seeds, sum.seeds / Seconds(start));
      std::fflush(stdout);
    }
  }
  if (group_.is_first()) {
    const double seconds = Seconds(start);
    std::printf("epoch %d: loss %.4f, train accuracy %.4f, %.0f samples/s, %.2f s\n", epoch,
                sum.loss / sum.seeds, sum.correct / sum.seeds, sum.seeds / seconds, seconds);
    std::fflush(stdout);
  }
}

double Trainer::Evaluate(graphd::DistNodeDataLoader& loader) {
  const torch::NoGradGuard no_gradients;
  model_->eval();
  torch::Tensor counts = torch::zeros({2}, torch::kFloat64);
  loader.StartEpoch(0);
  while (const std::optional<graphd::MiniBatch> batch = loader.Next()) {
    const torch::Tensor labels = AsLabels(batch->seed_features.front());
    const torch::Tensor scores = model_->forward(batch->blocks, Features(*batch));
    counts[0] += scores.argmax(1).eq(labels).sum();
    counts[1] += labels.ge(0).sum();
  }
  group_.Sum(counts);
  return counts[0].item<double>() / counts[1].item<double>();
}

void Trainer::Validate(int epoch) {
  const Clock::time_point start = Clock::now();
  const double valid = Evaluate(*valid_);
  // Without validation nodes the latest counts as best.
  const bool best = std::isnan(valid) || valid > best_valid_;
  if (best) {
    best_valid_ = valid;
    test_of_best_ = Evaluate(*test_);
  }
  if (group_.is_first()) {
    std::printf("epoch %d: validation accuracy %.4f%s, %.2f s\n", epoch, valid,
                best ? ", the best so far" : "", Seconds(start));
    std::fflush(stdout);
  }
}

double Trainer::Run() {
  for (int epoch = 0; epoch < options_.num_epochs; ++epoch) {
    TrainEpoch(epoch);
    const bool last = epoch + 1 == options_.num_epochs;
    if (last || (options_.eval_every > 0 && (epoch + 1) % options_.eval_every == 0)) {
      Validate(epoch);
    }
  }
  return test_of_best_;
}

}  // namespace train_sage
