// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <vector>

#include "common/dataset.h"
#include "common/rgcn.h"
#include "graphd/data_loader.h"

namespace link_prediction {

// A model of edges: the score of u -> v is <S h_u, D h_v> / sqrt(width) + b(popularity of v). The
// encoder h is the R-GCN of the other examples, which on a graph with one type of nodes and edges
// is GraphSAGE with the mean aggregator. S and D differ because a dependency has a direction.
class LinkModel : public torch::nn::Module {
 public:
  // `shape.out` is the width of h.
  LinkModel(const graphd::Schema& schema, const examples::RgcnShape& shape,
            examples::TypedInputs inputs);

  // Returns [ntype] h of the batch's seeds. `batch` must outlive backward().
  std::vector<torch::Tensor> Encode(const graphd::MiniBatch& batch);
  // Return parts of the score. h: [n, out]; popularity: [n] numbers of training edges to each node.
  torch::Tensor AsSource(const torch::Tensor& h);
  torch::Tensor AsDestination(const torch::Tensor& h) { return destination_(h); }
  torch::Tensor Bias(const torch::Tensor& popularity);  // [n]

 private:
  examples::TypedInputs inputs_;
  examples::Rgcn rgcn_{nullptr};
  torch::nn::Linear source_{nullptr}, destination_{nullptr};
  torch::nn::Sequential bias_{nullptr};
};

}  // namespace link_prediction
