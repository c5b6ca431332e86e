// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "graphd/block.h"
#include "graphd/schema.h"

// R-GCN (Schlichtkrull et al. 2018) on graphd's typed blocks: separate weights for every edge type,
// and for every node type's own row.

namespace examples {

// h_d = W_type(d) x_d + b_type(d) + sum over edge types e of W_e mean(x_s : s -e-> d). In DGL:
// HeteroGraphConv(aggregate="sum") of GraphConv(norm="right"), and a self loop.
class RgcnConvImpl : public torch::nn::Module {
 public:
  // Computes rows for the node types selected by `wanted` ([ntype]). `in_widths` is indexed by node
  // type.
  RgcnConvImpl(const graphd::Schema& schema, const std::vector<int64_t>& in_widths,
               int64_t out_width, const std::vector<bool>& wanted);
  // `x`: [ntype] rows of the block's source nodes. Returns [ntype] rows of its destinations, with
  // undefined tensors for types that have no destinations or were not selected by `wanted`. For a
  // gradient, `block` must not move until backward() is done.
  std::vector<torch::Tensor> forward(const graphd::Block& block,
                                     const std::vector<torch::Tensor>& x);

 private:
  std::vector<torch::nn::Linear> self_;       // [ntype]; empty for types that are not computed
  std::vector<torch::nn::Linear> relations_;  // [etype]; likewise, by destination type
  std::vector<graphd::NodeTypeId> src_, dst_;
};
TORCH_MODULE(RgcnConv);

struct RgcnShape {
  std::vector<int64_t> in_widths;  // [ntype] widths of the features; 0: no features
  int64_t hidden, out;             // widths
  int layers;
  double dropout;  // applied to the input of every layer
  uint64_t dropout_seed;
  std::vector<graphd::NodeTypeId> out_types;  // node types of the last layer
};

// An R-GCN of several layers. Nodes of a type without features share one learnt input vector, so
// their messages in the second layer consist of what they received from their neighbours in the
// first.
class RgcnImpl : public torch::nn::Module {
 public:
  RgcnImpl(const graphd::Schema& schema, const RgcnShape& shape);
  // `features`: [ntype] rows of the blocks' input nodes, undefined for types without features.
  // Returns [ntype] rows of the seeds before any activation; undefined as in RgcnConv. The blocks
  // must outlive backward().
  std::vector<torch::Tensor> forward(const std::vector<graphd::Block>& blocks,
                                     std::vector<torch::Tensor> features);

 private:
  std::vector<torch::Tensor> input_vectors_;  // [ntype]; undefined for types with features
  std::vector<RgcnConv> layers_;
  double dropout_;
  uint64_t dropout_seed_;
  torch::Tensor draws_;  // number of dropout draws; saved and loaded with the parameters
};
TORCH_MODULE(Rgcn);

}  // namespace examples
