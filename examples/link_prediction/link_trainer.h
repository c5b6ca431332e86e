// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

#include "common/options.h"
#include "common/shared_optimizer.h"
#include "common/trainer_group.h"
#include "graphd/edge_data_loader.h"
#include "link_prediction/edge_sets.h"
#include "link_prediction/link_model.h"
#include "link_prediction/ranking.h"

namespace link_prediction {

struct LinkOptions : examples::CommonOptions {
  std::string etype = "depends";        // edge type to predict
  std::string reverse_etype;            // empty: rev_<etype> if there is one, else etype itself
  std::vector<std::string> fan_out_of;  // see common/typed_fanouts.h
  int num_negs = 1;                     // uniform negatives per training edge
  int num_popular_negs = 20;   // negatives by popularity per training edge; they cost no sampling
  int num_eval_negs = 100;     // per evaluated edge, both uniform and by popularity
  int64_t num_eval_edges = 0;  // edges per set; 0: all
  int64_t max_steps = 0;       // per epoch; 0: all training edges
};

// The rankings by the model and by the destination's number of training edges, on the same pairs.
struct Comparison {
  Ranking model, degree;
};
// Comparisons for each kind of negatives.
struct Evaluation {
  Comparison uniform, popular;
};

// A trainer of a job that learns to distinguish edges from other pairs. Used by one thread; all
// functions are collective.
class LinkTrainer {
 public:
  // `group` must outlive the trainer.
  LinkTrainer(graphd::DistGraph graph, EdgeSets sets, LinkOptions options,
              examples::TrainerGroup& group);

  // Trains and evaluates. The first trainer prints results and, at the end, those on the test edges
  // for the parameters that were best on the validation edges. Returns when all trainers are done.
  void Run();

 private:
  graphd::AnySampler Sampler(const std::vector<int>& fan_out, int factor) const;
  graphd::DistEdgeDataLoader MakeLoader() const;
  void TrainEpoch(int epoch, examples::SharedOptimizer& optimizer);
  examples::Counts Learn(const graphd::EdgeBatch& batch);
  // Returns the scores of pairs of seeds.
  torch::Tensor Scores(const graphd::EdgeBatch& batch, const std::vector<torch::Tensor>& h,
                       const graphd::PairEdges& pairs, float own_edges);

  // Tells which pairs of seeds are training edges.
  torch::Tensor AreEdges(const graphd::EdgeBatch& batch, const graphd::PairEdges& pairs) const;

  // Returns [ntype] h of all nodes of the two ends' types; undefined for other types. All trainers
  // compute it together.
  std::vector<torch::Tensor> EncodeAll();
  Evaluation Evaluate(const std::vector<torch::Tensor>& h, EdgeSet set);
  Comparison Rank(const graphd::NegativeSampler& negatives, const torch::Tensor& sources,
                  const torch::Tensor& destinations, const torch::Tensor& bias,
                  const graphd::EdgeEnds& edges);
  void Validate(int epoch);
  void Report(const char* set, const Evaluation& result) const;

  graphd::DistGraph graph_;
  EdgeSets sets_;
  LinkOptions options_;
  examples::TrainerGroup& group_;
  graphd::NodeTypeId src_type_, dst_type_;
  std::shared_ptr<const graphd::NegativeSampler> uniform_, popular_;  // for evaluation
  examples::TypedInputs inputs_;
  std::shared_ptr<LinkModel> model_;
  std::optional<graphd::DistEdgeDataLoader> train_;
  int64_t steps_per_epoch_ = 0;
  double best_valid_ = -1;
  Evaluation test_of_best_;
};

}  // namespace link_prediction
