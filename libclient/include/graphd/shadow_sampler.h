// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

// Samples subgraphs around seeds, ShaDow-GNN (Zeng et al., "Decoupling the Depth and Scope of Graph
// Neural Networks", NeurIPS 2021). It samples neighbourhoods as NeighborSampler does, then takes
// the subgraph induced by all nodes found, so that a model of any depth works within this scope.
// Matches dgl.dataloading.ShaDowKHopSampler; DGL's (input_nodes, output_nodes, subgraph) are
// batch.input_nodes(t), batch.seeds[t] and batch.blocks[0].
//
// The batch has one block, whose destinations are its sources: num_dst[t] == src_nodes[t].size().
// The first seeds[t].size() nodes of a type are the seeds. The block has all edges of every type
// between its nodes, including parallel edges and self loops, except the excluded ones; the
// in-edges of a node are ordered by source id. The block can be given to each layer of a model. The
// features of the input nodes have one row for each node.
//
// After the hops, one message per edge type is sent to each partition that is not mapped and owns a
// destination. Thread-safe.
class ShadowSampler final : public BlockSampler {
 public:
  // `fanouts` has one fanout per hop, last hop first, as NeighborSampler takes them. `options`
  // apply to the hops, except that edge_ids requests the ids of the subgraph's edges. Throws
  // Error(kInvalid) on a fanout below -1.
  explicit ShadowSampler(const std::vector<int>& fanouts, NeighborOptions options = {});
  // Takes fanouts[hop][etype], as a std::vector<std::vector<int>>. Throws Error(kInvalid) on a
  // fanout below -1.
  ShadowSampler(LayerFanouts fanouts, NeighborOptions options = {});

  using BlockSampler::Sample;
  // Samples a mini-batch. Throws as BlockSampler::Sample does, and Error(kOverloaded) if the
  // subgraph has more edges of one type in one partition than an answer can hold (16 million).
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  // Returns the number of blocks of a mini-batch, 1.
  size_t num_layers() const noexcept override { return 1; }

 private:
  NeighborSampler hops_;
  bool edge_ids_;
};

}  // namespace graphd
