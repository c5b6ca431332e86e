// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

// Subgraphs around seeds (Zeng et al., "Decoupling the Depth and Scope of Graph Neural Networks",
// NeurIPS 2021): samples neighbourhoods as NeighborSampler does, then takes the subgraph induced by
// all nodes found, so that a model of any depth works within this scope. Matches
// dgl.dataloading.ShaDowKHopSampler, whose (input_nodes, output_nodes, subgraph) are
// batch.input_nodes(t), batch.seeds[t] and batch.blocks[0].
//
// The batch has one block, whose destinations are its sources: num_dst[t] == src_nodes[t].size().
// The first seeds[t].size() nodes of a type are the seeds. Of every edge type the block has all
// edges between its nodes, parallel ones and self loops included, but for those excluded; within a
// row they ascend by source id. It can be given to each layer of a model. Features of input nodes
// are rows of all nodes.
//
// After the hops there is one message per edge type to each partition that is not mapped and owns a
// destination.
class ShadowSampler final : public BlockSampler {
 public:
  // `fanouts` as NeighborSampler takes them: per hop, last hop first. The options are those of the
  // hops; edge_ids: tell the ids of the subgraph's edges. Throws Error(kInvalid) on a fanout below
  // -1.
  explicit ShadowSampler(const std::vector<int>& fanouts, NeighborOptions options = {});
  // fanouts[hop][etype], as a std::vector<std::vector<int>>.
  ShadowSampler(LayerFanouts fanouts, NeighborOptions options = {});

  using BlockSampler::Sample;
  // Throws also Error(kOverloaded) if the subgraph's edges of one type in one partition are more
  // than an answer may hold (16 million).
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  size_t num_layers() const noexcept override { return 1; }

 private:
  NeighborSampler hops_;
  bool edge_ids_;
};

}  // namespace graphd
