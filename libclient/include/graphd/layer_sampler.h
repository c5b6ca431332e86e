// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

struct LayerOptions {
  // Edge feature: the entries of the adjacency matrix (float, or a mask), for example normalised by
  // degrees as in a GCN. Edges of weight 0 count as none. Empty: 1 / in-degree of the destination.
  // Edge types without the column have the latter.
  std::string column = {};
  bool edge_ids = false;  // tell the edges' ids in the blocks
};

// Layer-dependent importance sampling: LADIES (Zou et al., "Layer-Dependent Importance Sampling for
// Training Deep and Large Graph Convolutional Networks", NeurIPS 2019). A layer's sources are
// sampled for all of its destinations together, so that their number grows by at most `fanout` per
// node type and layer instead of being multiplied by it. DGL has it as an example (ladies), not as
// a sampler.
//
// For destinations S, edge types e with matrices P_e[v, u] (parallel edges added up) and a node
// type t of sources:
//
//   candidates  all sources of type t of in-edges of S, over all partitions; S itself where it is
//   q(u)        sum over e from t and v in S of P_e[v, u]^2: the squared norm of u's column
//   chosen      min(fanout, candidates) different ones, drawn one after another in proportion to q;
//               fanout -1: all
//   sources     S, then those chosen that are not in S
//   edges       every edge from a source to S, of all edge types
//   weights     P(e) / pi(u), then divided by the sum over its row and edge type, so that each row
//               that has edges sums to 1: sum of weights * features is the layer's mean
//
// pi(u) debiases: 1 for u in S, which is always there, else 1 - exp(-q(u) tau). Here tau is the
// first arrival that came too late: each candidate's clock rings after Exp(q(u)), and those that
// ring first are chosen. Given tau, pi(u) is exactly the probability that u is chosen, so that sums
// of P(e) / pi(u) * features over a row are unbiased before they are normalised. (The paper draws
// with replacement and divides by fanout * p(u).)
//
// The draw is a function of (seed, layer, node): the same in all transports. All in-edges of the
// destinations are read, by one message per layer to each partition that is not mapped, and their
// weights by a second.
class LayerSampler final : public BlockSampler {
 public:
  // `fanouts` per layer, input layer first; each for every node type. Throws Error(kInvalid) on a
  // fanout below -1.
  explicit LayerSampler(const std::vector<int>& fanouts, LayerOptions options = {});
  // fanouts[layer][ntype], as a std::vector<std::vector<int>>: a node type of fanout 0 has only
  // destinations.
  LayerSampler(LayerFanouts fanouts, LayerOptions options = {});

  using BlockSampler::Sample;
  // BlockEdges::weights are set in all blocks. Throws also Error(kInvalid) on weights that are
  // negative or not finite, Error(kNotFound) if no edge type has the column.
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  size_t num_layers() const noexcept override { return fanouts_.num_layers(); }

 private:
  LayerFanouts fanouts_;
  LayerOptions options_;
};

}  // namespace graphd
