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
// Let S be the destinations of a layer, t a node type of sources, and P_e the adjacency matrix of
// edge type e, whose entries LayerOptions::column selects. P_e[v, u] is the sum of the entries of
// all edges from u to v.
//
//   candidates  every node of type t, in any partition, that is the source of an in-edge of S;
//               nodes of S may be among them
//   q(u)        the sum of P_e[v, u]^2 over all v in S and all edge types e whose sources have
//               type t: the squared norm of u's column
//   chosen      min(fanout, number of candidates) different candidates, drawn one after another
//               in proportion to q; all candidates if the fanout is -1
//   sources     S, then the chosen nodes that are not in S
//   edges       every edge of any edge type from a source to a node of S
//   weights     the entry of the edge divided by pi(u), normalised so that the weights of the
//               edges of one edge type to one destination sum to 1: the sum of weights *
//               features is the layer's weighted mean
//
// The inclusion probability pi(u) removes the bias. It is 1 for u in S, which is always included,
// and 1 - exp(-q(u) tau) otherwise. Each candidate has an arrival time distributed as Exp(q(u)),
// and the earliest arrivals are chosen; tau is the first arrival time that is not chosen. Given
// tau, u is chosen with probability exactly pi(u), so that the sums of P_e[v, u] / pi(u) * features
// over a row are unbiased before they are normalised. (The paper draws with replacement and divides
// by fanout * p(u).)
//
// The random number of a node depends only on (seed, layer, node), so that the sample is the same
// whether partitions are mapped or read over TCP. All in-edges of the destinations are read, with
// one message per layer to each partition that is not mapped, and their weights with a second
// message. Thread-safe.
class LayerSampler final : public BlockSampler {
 public:
  // `fanouts` has one fanout per layer, input layer first, for every node type. Throws
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
