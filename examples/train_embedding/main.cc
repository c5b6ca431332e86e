// SPDX-License-Identifier: Apache-2.0
// Transductive node classification: every node has a vector that is learnt with the model. The
// servers store the vectors and Adagrad's state; an interrupted job resumes from its last
// checkpoint (--checkpoint_every, --resume).
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "common/dataset.h"
#include "common/learnt_rows.h"
#include "common/node_trainer.h"
#include "common/program.h"
#include "common/sage.h"
#include "graphd/sparse_optim.h"

namespace train_embedding {
namespace {

struct EmbeddingOptions : examples::CommonOptions {
  std::string label_name;  // empty: label or labels
  std::string embedding_name = "node_embedding";
  int64_t embedding_dim = 64;
  double sparse_lr = 0.05;
};

EmbeddingOptions ParseOptions(int argc, char** argv) {
  EmbeddingOptions o;
  CLI::App app("train_embedding: GraphSAGE on node embeddings that graphd stores");
  examples::AddCommonOptions(app, o);
  examples::AddCheckpointOptions(app, o);
  app.add_option("--label_name", o.label_name, "Label; default: label, or labels");
  app.add_option("--embedding_name", o.embedding_name, "Name of the tensor on the servers");
  app.add_option("--embedding_dim", o.embedding_dim)->check(CLI::Range(1, 1 << 16));
  app.add_option("--sparse_lr", o.sparse_lr, "Learning rate of the embeddings' Adagrad")
      ->check(CLI::PositiveNumber);
  examples::ParseCommandLine(app, argc, argv, o);
  return o;
}

class EmbeddingSage final : public examples::NodeModel {
 public:
  EmbeddingSage(const examples::SageShape& shape, graphd::DistEmbedding& embedding,
                graphd::SparseOptimizer& optimizer)
      : embedding_(embedding), optimizer_(optimizer) {
    layers_ = register_module("layers", examples::SageLayers(shape));
  }
  torch::Tensor Scores(const graphd::NodeBatch& batch) override {
    return layers_(batch.blocks, examples::LearntRows(embedding_, batch.input_nodes(0)));
  }
  // Gradients are those of a sum over the batch, not its mean; Adagrad is invariant to the factor.
  void AfterStep() override { optimizer_.Step(); }

 private:
  graphd::DistEmbedding& embedding_;
  graphd::SparseOptimizer& optimizer_;
  examples::SageLayers layers_{nullptr};
};

void Train(int argc, char** argv) {
  using examples::NodeTrainer;
  const EmbeddingOptions options = ParseOptions(argc, argv);
  examples::SetThreads(options.num_threads);
  examples::TrainerGroup group =
      examples::TrainerGroup::Join(options.session.rank, options.session.world_size);
  const NodeTrainer::Clock::time_point start = NodeTrainer::Clock::now();
  const graphd::DistGraph graph(graphd::Initialize(options.session), options.graph_name);
  if (!graph.schema().is_homogeneous()) {
    throw graphd::Error(graphd::ErrorCode::kInvalid,
                        "graph '" + graph.name() +
                            "' has several node or edge types; train_embedding trains on graphs "
                            "with one of each");
  }
  const examples::NodeTask task{.ntype = 0,
                                .label = examples::FindFeature(graph, 0, options.label_name,
                                                               "--label_name", {"label", "labels"}),
                                .input_features = {},
                                .train_sampler = graphd::NeighborSampler(options.fan_out),
                                .eval_sampler = graphd::NeighborSampler(options.eval_fan_out)};
  NodeTrainer trainer(graph, task, options, group, start);

  graphd::DistEmbedding embedding(
      graph, {.name = options.embedding_name,
              .dim = options.embedding_dim,
              .initializer = graphd::Initializer::Normal(0, 0.1, options.seed)});
  // Synchronous steps: the result does not depend on the order in which trainers' gradients arrive.
  graphd::SparseAdagrad adagrad({&embedding}, {.lr = static_cast<float>(options.sparse_lr),
                                               .mode = graphd::StepMode::kSynchronous});
  torch::manual_seed(options.seed);  // equal weights in all trainers
  const examples::SageShape shape{.in_width = options.embedding_dim,
                                  .hidden = options.num_hidden,
                                  .out_width = trainer.num_classes(),
                                  .layers = options.num_layers,
                                  .dropout = options.dropout,
                                  .dropout_seed = options.SeedOfTrainer()};
  trainer.Run(std::make_shared<EmbeddingSage>(shape, embedding, adagrad));
}

}  // namespace
}  // namespace train_embedding

int main(int argc, char** argv) {
  return examples::RunProgram("train_embedding", argc, argv, train_embedding::Train);
}
