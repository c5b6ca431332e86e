// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "common/dataset.h"
#include "common/node_trainer.h"
#include "common/program.h"
#include "common/rgcn.h"
#include "common/typed_fanouts.h"

namespace train_rgcn {
namespace {

struct RgcnOptions : examples::CommonOptions {
  std::string ntype;       // type of the nodes to classify; empty: the one with a train_mask
  std::string label_name;  // empty: label or labels
  std::vector<std::string> fan_out_of;
};

RgcnOptions ParseOptions(int argc, char** argv) {
  RgcnOptions o;
  CLI::App app("train_rgcn: mini-batch R-GCN on a graph with several types that graphd serves");
  examples::AddCommonOptions(app, o);
  examples::AddCheckpointOptions(app, o);
  app.add_option("--ntype", o.ntype,
                 "Type of the nodes to classify; default: the one with a train_mask");
  app.add_option("--label_name", o.label_name, "Label; default: label, or labels");
  app.add_option("--fan_out_of", o.fan_out_of,
                 "EDGETYPE=FANOUT,...: fanouts of an edge type instead of --fan_out; for "
                 "evaluation, they are doubled. May be repeated");
  examples::ParseCommandLine(app, argc, argv, o);
  return o;
}

graphd::NodeTypeId LabelledType(const graphd::DistGraph& graph, const std::string& given) {
  if (!given.empty()) return graph.schema().NodeTypeIdOf(given);
  std::vector<graphd::NodeTypeId> found;
  for (graphd::NodeTypeId t = 0; t < graph.schema().num_ntypes(); ++t) {
    const std::vector<std::string> names = graph.ndata_names(t);
    if (std::find(names.begin(), names.end(), "train_mask") != names.end()) found.push_back(t);
  }
  if (found.size() != 1) {
    throw graphd::Error(graphd::ErrorCode::kInvalid,
                        "graph '" + graph.name() + "' has " + std::to_string(found.size()) +
                            " node types with a train_mask; name the one to classify with --ntype");
  }
  return found.front();
}

examples::NodeTask DescribeTask(const graphd::DistGraph& graph, const RgcnOptions& options,
                                const examples::TypedInputs& inputs) {
  const graphd::NodeTypeId ntype = LabelledType(graph, options.ntype);
  const graphd::Schema& schema = graph.schema();
  return {.ntype = ntype,
          .label = examples::FindFeature(graph, ntype, options.label_name, "--label_name",
                                         {"label", "labels"}),
          .input_features = inputs.features,
          .train_sampler = graphd::NeighborSampler(
              examples::TypedFanouts(schema, options.fan_out, options.fan_out_of), {}),
          .eval_sampler = graphd::NeighborSampler(
              examples::TypedFanouts(schema, options.eval_fan_out, options.fan_out_of, 2), {})};
}

class Classifier : public examples::NodeModel {
 public:
  Classifier(const graphd::Schema& schema, const examples::RgcnShape& shape,
             examples::TypedInputs inputs)
      : inputs_(std::move(inputs)), ntype_(static_cast<size_t>(shape.out_types.front())) {
    rgcn_ = register_module("rgcn", examples::Rgcn(schema, shape));
  }

  torch::Tensor Scores(const graphd::NodeBatch& batch) override {
    return rgcn_(batch.blocks, examples::InputRows(inputs_, batch))[ntype_];
  }

 private:
  examples::TypedInputs inputs_;
  size_t ntype_;
  examples::Rgcn rgcn_{nullptr};
};

void Train(int argc, char** argv) {
  using examples::NodeTrainer;
  const RgcnOptions options = ParseOptions(argc, argv);
  examples::SetThreads(options.num_threads);
  examples::TrainerGroup group =
      examples::TrainerGroup::Join(options.session.rank, options.session.world_size);
  const NodeTrainer::Clock::time_point start = NodeTrainer::Clock::now();
  const graphd::DistGraph graph(graphd::Initialize(options.session), options.graph_name);
  const examples::TypedInputs inputs = examples::DescribeInputs(graph, options.feat_name);
  const examples::NodeTask task = DescribeTask(graph, options, inputs);
  NodeTrainer trainer(graph, task, options, group, start);

  torch::manual_seed(options.seed);  // equal weights in all trainers
  trainer.Run(
      std::make_shared<Classifier>(graph.schema(),
                                   examples::RgcnShape{.in_widths = inputs.widths,
                                                       .hidden = options.num_hidden,
                                                       .out = trainer.num_classes(),
                                                       .layers = options.num_layers,
                                                       .dropout = options.dropout,
                                                       .dropout_seed = options.SeedOfTrainer(),
                                                       .out_types = {task.ntype}},
                                   inputs));
}

}  // namespace
}  // namespace train_rgcn

int main(int argc, char** argv) {
  return examples::RunProgram("train_rgcn", argc, argv, train_rgcn::Train);
}
