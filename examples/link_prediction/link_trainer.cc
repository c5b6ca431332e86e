// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/link_trainer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "common/typed_fanouts.h"
#include "graphd/node_split.h"
#include "link_prediction/negatives.h"
#include "link_prediction/training_edges_sampler.h"

namespace link_prediction {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

size_t Index(int64_t i) { return static_cast<size_t>(i); }

// Returns a view; `values` must outlive it.
torch::Tensor View(const std::vector<int64_t>& values) {
  return torch::from_blob(const_cast<int64_t*>(values.data()),
                          {static_cast<int64_t>(values.size())}, torch::kInt64);
}

}  // namespace

LinkTrainer::LinkTrainer(graphd::DistGraph graph, EdgeSets sets, LinkOptions options,
                         examples::TrainerGroup& group)
    : graph_(std::move(graph)),
      sets_(std::move(sets)),
      options_(std::move(options)),
      group_(group),
      src_type_(graph_.schema().src_type(sets_.etype())),
      dst_type_(graph_.schema().dst_type(sets_.etype())),
      uniform_(std::make_shared<graphd::negative_sampler::Uniform>(options_.num_eval_negs)),
      popular_(std::make_shared<PopularDestinations>(options_.num_eval_negs, sets_.training_dst())),
      inputs_(examples::DescribeInputs(graph_, options_.feat_name)) {
  torch::manual_seed(options_.seed);  // equal weights in all trainers
  model_ = std::make_shared<LinkModel>(graph_.schema(),
                                       examples::RgcnShape{.in_widths = inputs_.widths,
                                                           .hidden = options_.num_hidden,
                                                           .out = options_.num_hidden,
                                                           .layers = options_.num_layers,
                                                           .dropout = options_.dropout,
                                                           .dropout_seed = options_.SeedOfTrainer(),
                                                           .out_types = {src_type_, dst_type_}},
                                       inputs_);
  train_.emplace(MakeLoader());
  steps_per_epoch_ = static_cast<int64_t>(group_.Max(static_cast<double>(train_->num_batches())));
  if (options_.max_steps > 0) steps_per_epoch_ = std::min(steps_per_epoch_, options_.max_steps);
}

graphd::AnySampler LinkTrainer::Sampler(const std::vector<int>& fan_out, int factor) const {
  return TrainingEdgesSampler(
      graphd::NeighborSampler(
          examples::TypedFanouts(graph_.schema(), fan_out, options_.fan_out_of, factor), {}),
      sets_.held_out());
}

graphd::DistEdgeDataLoader LinkTrainer::MakeLoader() const {
  graphd::LoaderOptions loader;
  loader.batch_size = options_.batch_size;
  loader.shuffle = true;
  loader.seed = options_.SeedOfTrainer();
  loader.num_workers = options_.num_workers;
  loader.input_features = inputs_.features;
  graphd::EdgeLoaderOptions edges;
  // Sample neither a batch's own edges nor their reverse edges.
  edges.exclude = graphd::ExcludeEdges::kReverseTypes;
  edges.reverse_etypes = {{sets_.etype(), sets_.reverse()}};
  edges.negative_sampler =
      std::make_shared<Both>(std::make_shared<graphd::negative_sampler::Uniform>(options_.num_negs),
                             std::make_shared<PopularDestinations>(options_.num_popular_negs));
  return graphd::DistEdgeDataLoader(
      graph_, graphd::EdgeSplit(graph_, sets_.Mask(EdgeSet::kTrain), sets_.etype()), sets_.etype(),
      Sampler(options_.fan_out, 1), loader, edges);
}

torch::Tensor LinkTrainer::Scores(const graphd::EdgeBatch& batch,
                                  const std::vector<torch::Tensor>& h,
                                  const graphd::PairEdges& pairs, float own_edges) {
  const torch::Tensor src = View(pairs.src), dst = View(pairs.dst);
  const torch::Tensor from = model_->AsSource(h[Index(src_type_)]).index_select(0, src);
  const torch::Tensor to = model_->AsDestination(h[Index(dst_type_)]).index_select(0, dst);
  torch::Tensor popularity = torch::empty({dst.size(0)});
  float* value = popularity.data_ptr<float>();
  for (const int64_t position : pairs.dst) {
    const int64_t node = batch.seeds[Index(dst_type_)][Index(position)];
    *value++ = std::max(0.0F, sets_.popularity()[Index(node)] - own_edges);
  }
  return (from * to).sum(1) + model_->Bias(popularity);
}

torch::Tensor LinkTrainer::AreEdges(const graphd::EdgeBatch& batch,
                                    const graphd::PairEdges& pairs) const {
  torch::Tensor known = torch::empty({static_cast<int64_t>(pairs.src.size())}, torch::kBool);
  bool* value = known.data_ptr<bool>();
  const auto &src = batch.seeds[Index(src_type_)], &dst = batch.seeds[Index(dst_type_)];
  for (size_t i = 0; i < pairs.src.size(); ++i) {
    value[i] = sets_.IsTraining(src[Index(pairs.src[i])], dst[Index(pairs.dst[i])]);
  }
  return known;
}

// The loss is the cross entropy of finding each edge among its negatives.
examples::Counts LinkTrainer::Learn(const graphd::EdgeBatch& batch) {
  const std::vector<torch::Tensor> h = model_->Encode(batch);
  const graphd::PairEdges& edges = batch.positive[Index(sets_.etype())];
  const graphd::PairEdges& others = batch.negative[Index(sets_.etype())];
  const auto count = static_cast<int64_t>(edges.src.size());
  // The edge to predict does not count for its destination's popularity either.
  const torch::Tensor yes = Scores(batch, h, edges, 1).unsqueeze(1);
  // Random pairs that are edges do not count as negatives.
  const torch::Tensor no = Scores(batch, h, others, 0).masked_fill(AreEdges(batch, others), -1e9);
  const torch::Tensor uniform = no.narrow(0, 0, count * options_.num_negs);
  const torch::Tensor popular = no.narrow(0, uniform.size(0), count * options_.num_popular_negs);
  const torch::Tensor scores =
      torch::cat({yes, uniform.reshape({count, -1}), popular.reshape({count, -1})}, 1);
  const torch::Tensor loss = -torch::log_softmax(scores, 1).select(1, 0).sum();
  loss.backward();
  return {.hits = scores.argmax(1).eq(0).sum().item<double>(),
          .loss = loss.item<double>(),
          .items = static_cast<double>(count)};
}

void LinkTrainer::TrainEpoch(int epoch, examples::SharedOptimizer& optimizer) {
  model_->train();
  const Clock::time_point start = Clock::now();
  train_->StartEpoch(epoch);
  examples::Counts sum;
  for (int64_t step = 0; step < steps_per_epoch_; ++step) {
    // A trainer with fewer edges than others still takes part in every sum.
    const std::optional<graphd::EdgeBatch> batch =
        step < train_->num_batches() ? train_->Next() : std::nullopt;
    optimizer.ZeroGradients();
    sum += optimizer.Step(batch ? Learn(*batch) : examples::Counts{});
    if (group_.is_first() && options_.log_every > 0 && (step + 1) % options_.log_every == 0) {
      std::printf("epoch %d, step %lld of %lld: loss %.4f, %.0f edges/s\n", epoch,
                  static_cast<long long>(step + 1), static_cast<long long>(steps_per_epoch_),
                  sum.loss / sum.items, sum.items / Seconds(start));
      std::fflush(stdout);
    }
  }
  if (group_.is_first()) {
    const double seconds = Seconds(start);
    std::printf("epoch %d: loss %.4f, found among negatives %.4f, %.0f edges/s, %.2f s\n", epoch,
                sum.loss / sum.items, sum.hits / sum.items, sum.items / seconds, seconds);
    std::fflush(stdout);
  }
}

std::vector<torch::Tensor> LinkTrainer::EncodeAll() {
  const torch::NoGradGuard no_gradients;
  model_->eval();
  const auto num_ntypes = Index(graph_.schema().num_ntypes());
  std::vector<std::vector<int64_t>> own(num_ntypes);
  std::vector<torch::Tensor> h(num_ntypes);
  for (const graphd::NodeTypeId t : {src_type_, dst_type_}) {
    if (h[Index(t)].defined()) continue;
    // Trainers are numbered by partition, so most of a trainer's range is in its own partition.
    const int64_t nodes = graph_.num_nodes(t), rank = group_.rank(), size = group_.world_size();
    for (int64_t i = nodes * rank / size; i < nodes * (rank + 1) / size; ++i) {
      own[Index(t)].push_back(i);
    }
    h[Index(t)] = torch::zeros({nodes, options_.num_hidden});
  }
  graphd::LoaderOptions loader;
  loader.batch_size = options_.batch_size_eval;
  loader.seed = options_.seed;
  loader.num_workers = options_.num_workers;
  loader.input_features = inputs_.features;
  graphd::DistNodeDataLoader all(graph_, std::move(own), Sampler(options_.eval_fan_out, 2), loader);
  all.StartEpoch(0);
  while (const std::optional<graphd::NodeBatch> batch = all.Next()) {
    const std::vector<torch::Tensor> rows = model_->Encode(*batch);
    for (size_t t = 0; t < num_ntypes; ++t) {
      if (rows[t].defined()) h[t].index_copy_(0, View(batch->seeds[t]), rows[t]);
    }
  }
  for (const torch::Tensor& of_type : h) {
    if (of_type.defined()) group_.Sum(of_type);  // rows of other trainers are 0
  }
  return h;
}

Comparison LinkTrainer::Rank(const graphd::NegativeSampler& negatives, const torch::Tensor& sources,
                             const torch::Tensor& destinations, const torch::Tensor& bias,
                             const graphd::EdgeEnds& edges) {
  const graphd::NegativeEdges pairs =
      negatives.Sample(graph_, sets_.etype(), edges.src, edges.dst, options_.seed);
  // Random pairs that are edges of any set do not count as negatives.
  const std::vector<uint8_t> is_edge = graph_.HasEdges(pairs.src, pairs.dst, sets_.etype());
  const size_t each = edges.src.empty() ? 0 : pairs.src.size() / edges.src.size();
  Comparison result;
  std::vector<int64_t> candidates;
  std::vector<float> degrees;
  for (size_t i = 0; i < edges.src.size(); ++i) {
    candidates.assign({edges.dst[i]});
    for (size_t j = i * each; j < (i + 1) * each; ++j) {
      if (!is_edge[j]) candidates.push_back(pairs.dst[j]);
    }
    degrees.clear();
    for (const int64_t node : candidates) degrees.push_back(sets_.popularity()[Index(node)]);
    const torch::Tensor at = View(candidates);
    const torch::Tensor scores =
        destinations.index_select(0, at).mv(sources[edges.src[i]]) + bias.index_select(0, at);
    const std::span<const float> values(scores.data_ptr<float>(), candidates.size());
    result.model.Add(values[0], values.subspan(1));
    result.degree.Add(degrees[0], std::span<const float>(degrees).subspan(1));
  }
  torch::Tensor sums =
      torch::tensor({result.model.auc, result.model.reciprocal_rank, result.model.edges,
                     result.degree.auc, result.degree.reciprocal_rank, result.degree.edges},
                    torch::kFloat64);
  group_.Sum(sums);
  const double* sum = sums.data_ptr<double>();
  return {.model = {sum[0], sum[1], sum[2]}, .degree = {sum[3], sum[4], sum[5]}};
}

Evaluation LinkTrainer::Evaluate(const std::vector<torch::Tensor>& h, EdgeSet set) {
  const torch::NoGradGuard no_gradients;
  std::vector<int64_t> own = graphd::EdgeSplit(graph_, sets_.Mask(set), sets_.etype());
  // Take every n-th edge, so that edges of the whole partition are included.
  const int64_t wanted = options_.num_eval_edges > 0 ? options_.num_eval_edges : sets_.size(set);
  const int64_t stride = std::max<int64_t>(1, sets_.size(set) / wanted);
  graphd::EdgeEnds edges;
  for (size_t i = 0; i < own.size(); i += Index(stride)) {
    edges.src.push_back(sets_.ends().src[Index(own[i])]);
    edges.dst.push_back(sets_.ends().dst[Index(own[i])]);
  }
  const torch::Tensor sources = model_->AsSource(h[Index(src_type_)]);
  const torch::Tensor destinations = model_->AsDestination(h[Index(dst_type_)]);
  const torch::Tensor bias = model_->Bias(torch::tensor(sets_.popularity()));
  return {.uniform = Rank(*uniform_, sources, destinations, bias, edges),
          .popular = Rank(*popular_, sources, destinations, bias, edges)};
}

void LinkTrainer::Report(const char* set, const Evaluation& result) const {
  if (!group_.is_first()) return;
  for (const auto& [name, by] :
       {std::pair("uniform", &result.uniform), {"popular", &result.popular}}) {
    std::printf("%s, %s negatives: AUC %.4f, MRR %.4f; by degree: AUC %.4f, MRR %.4f\n", set, name,
                by->model.Auc(), by->model.Mrr(), by->degree.Auc(), by->degree.Mrr());
  }
  std::fflush(stdout);
}

void LinkTrainer::Validate(int epoch) {
  const Clock::time_point start = Clock::now();
  const std::vector<torch::Tensor> h = EncodeAll();
  const Evaluation valid = Evaluate(h, EdgeSet::kValid);
  const double quality = valid.uniform.model.Mrr() + valid.popular.model.Mrr();
  if (quality > best_valid_) {
    best_valid_ = quality;
    test_of_best_ = Evaluate(h, EdgeSet::kTest);
  }
  Report("validation", valid);
  if (group_.is_first()) std::printf("epoch %d evaluated in %.2f s\n", epoch, Seconds(start));
}

void LinkTrainer::Run() {
  examples::SharedOptimizer optimizer(model_->parameters(), options_, group_);
  if (group_.is_first()) {
    std::printf(
        "%s: %lld edges of type %s to train on, %lld to validate, %lld to test; %lld parameters; "
        "%d trainers, %lld steps per epoch\n",
        graph_.name().c_str(), static_cast<long long>(sets_.size(EdgeSet::kTrain)),
        graph_.schema().etype(sets_.etype()).ToString().c_str(),
        static_cast<long long>(sets_.size(EdgeSet::kValid)),
        static_cast<long long>(sets_.size(EdgeSet::kTest)),
        static_cast<long long>(optimizer.num_parameters()), group_.world_size(),
        static_cast<long long>(steps_per_epoch_));
  }
  for (int epoch = 0; epoch < options_.num_epochs; ++epoch) {
    TrainEpoch(epoch, optimizer);
    const bool last = epoch + 1 == options_.num_epochs;
    if (last || (options_.eval_every > 0 && (epoch + 1) % options_.eval_every == 0)) {
      Validate(epoch);
    }
  }
  Report("test", test_of_best_);
  group_.Barrier();  // keep the first trainer, which hosts the rendezvous, until all are done
}

}  // namespace link_prediction
