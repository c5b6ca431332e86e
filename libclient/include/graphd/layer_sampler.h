// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

// The settings of a LayerSampler.
struct LayerOptions {
  // Edge feature with the entries of the adjacency matrix (float, or a mask), for example
  // normalised by degrees as in a GCN. Edges of weight 0 are ignored. If the name is empty, or an
  // edge type does not have the feature, the entries are 1 / in-degree of the destination.
  std::string column = {};
  bool edge_ids = false;  // return the edges' ids in the blocks
};

// Layer-dependent importance sampling, LADIES (Zou et al., "Layer-Dependent Importance Sampling for
// Training Deep and Large Graph Convolutional Networks", NeurIPS 2019). The sources of a layer are
// sampled for all of its destinations together, so that their number grows by at most `fanout` per
// node type and layer instead of being multiplied by it. DGL has it as an example (ladies), not as
// a sampler.
//
// For destinations S, edge types e with matrices P_e[v, u] (parallel edges added up) and a node
// type t of sources:
//
//   candidates  all sources of type t of in-edges of S, in all partitions; S itself too
//               where it is among them
//   q(u)        sum over e from t and v in S of P_e[v, u]^2: the squared norm of u's column
//   chosen      min(fanout, candidates) different nodes, drawn one after another in
//               proportion to q; fanout -1: all
//   sources     S, then the chosen nodes that are not in S
//   edges       every edge from a source to S, of all edge types
//   weights     P(e) / pi(u), divided by the sum over the row and edge type, so that each row
//               with edges sums to 1: the sum of weights * features is the layer's mean
//
// The inclusion probability pi(u) removes the bias. It is 1 for u in S, which is always included,
// and 1 - exp(-q(u) tau) otherwise. Each candidate has an arrival time distributed as Exp(q(u)),
// and the earliest arrivals are chosen; tau is the first arrival time that is not chosen. Given
// tau, u is chosen with probability exactly pi(u), so that sums of P(e) / pi(u) * features over a
// row are unbiased before they are normalised. (The paper draws with replacement and divides by
// fanout * p(u).)
//
// The sample is a function of (seed, layer, node), the same for all transports. All in-edges of the
// destinations are read, with one message per layer to each partition that is not mapped, and their
// weights with a second one. Thread-safe.
class LayerSampler final : public BlockSampler {
 public:
  // `fanouts` is per layer, input layer first; each is applied to every node type. Throws
  // Error(kInvalid) on a fanout below -1.
  explicit LayerSampler(const std::vector<int>& fanouts, LayerOptions options = {});
  // Takes fanouts[layer][ntype], as a std::vector<std::vector<int>>. With fanout 0 a layer draws no
  // sources of that node type: its only sources of the type are its destinations. Throws
  // Error(kInvalid) on a fanout below -1.
  LayerSampler(LayerFanouts fanouts, LayerOptions options = {});

  using BlockSampler::Sample;
  // Samples a mini-batch in which every block has BlockEdges::weights. Throws as
  // BlockSampler::Sample does, and Error(kInvalid) on weights that are negative or not finite,
  // Error(kNotFound) if no edge type has the column.
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  // Returns the number of blocks of a mini-batch.
  size_t num_layers() const noexcept override { return fanouts_.num_layers(); }

 private:
  LayerFanouts fanouts_;
  LayerOptions options_;
};

}  // namespace graphd
