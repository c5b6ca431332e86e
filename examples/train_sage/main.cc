// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "common/dataset.h"
#include "common/node_trainer.h"
#include "common/program.h"
#include "common/sage.h"

namespace train_sage {
namespace {

struct SageOptions : examples::CommonOptions {
  std::string label_name;      // empty: label or labels
  bool row_normalize = false;  // divide each node's features by their sum
};

SageOptions ParseOptions(int argc, char** argv) {
  SageOptions o;
  CLI::App app("train_sage: mini-batch GraphSAGE on a graph that graphd serves");
  examples::AddCommonOptions(app, o);
  examples::AddCheckpointOptions(app, o);
  app.add_option("--label_name", o.label_name, "Label; default: label, or labels");
  app.add_flag("--row_normalize", o.row_normalize, "Divide each node's features by their sum");
  examples::ParseCommandLine(app, argc, argv, o);
  return o;
}

// GraphSAGE on the only input feature of each batch.
class Sage final : public examples::NodeModel {
 public:
  Sage(const examples::SageShape& shape, bool row_normalize) : row_normalize_(row_normalize) {
    layers_ = register_module("layers", examples::SageLayers(shape));
  }
  torch::Tensor Scores(const graphd::NodeBatch& batch) override {
    torch::Tensor x = examples::AsFeatures(batch.input_features.front());
    if (row_normalize_) x = x / x.abs().sum(1, /*keepdim=*/true).clamp_min(1e-12);
    return layers_(batch.blocks, x);
  }

 private:
  examples::SageLayers layers_{nullptr};
  bool row_normalize_;  // divide each node's features by their sum
};

examples::NodeTask DescribeTask(const graphd::DistGraph& graph, const SageOptions& options) {
  if (!graph.schema().is_homogeneous()) {
    throw graphd::Error(graphd::ErrorCode::kInvalid,
                        "graph '" + graph.name() +
                            "' has several node or edge types; train_sage trains on graphs with "
                            "one of each, train_rgcn on others");
  }
  return {.ntype = 0,
          .label = examples::FindFeature(graph, 0, options.label_name, "--label_name",
                                         {"label", "labels"}),
          .input_features = {examples::FindFeature(graph, 0, options.feat_name, "--feat_name",
                                                   {"feat", "features"})},
          .train_sampler = graphd::NeighborSampler(options.fan_out),
          .eval_sampler = graphd::NeighborSampler(options.eval_fan_out)};
}

void Train(int argc, char** argv) {
  using examples::NodeTrainer;
  const SageOptions options = ParseOptions(argc, argv);
  examples::SetThreads(options.num_threads);
  examples::TrainerGroup group =
      examples::TrainerGroup::Join(options.session.rank, options.session.world_size);
  const NodeTrainer::Clock::time_point start = NodeTrainer::Clock::now();
  const graphd::DistGraph graph(graphd::Initialize(options.session), options.graph_name);
  const examples::NodeTask task = DescribeTask(graph, options);
  NodeTrainer trainer(graph, task, options, group, start);

  torch::manual_seed(options.seed);  // equal weights in all trainers
  const examples::SageShape shape{
      .in_width = examples::FeatureWidth(graph.ndata(task.input_features.front().name)),
      .hidden = options.num_hidden,
      .out_width = trainer.num_classes(),
      .layers = options.num_layers,
      .dropout = options.dropout,
      .dropout_seed = options.SeedOfTrainer()};
  trainer.Run(std::make_shared<Sage>(shape, options.row_normalize));
}

}  // namespace
}  // namespace train_sage

int main(int argc, char** argv) {
  return examples::RunProgram("train_sage", argc, argv, train_sage::Train);
}
