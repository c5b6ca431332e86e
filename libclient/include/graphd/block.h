// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/export.h"
#include "graphd/sampling.h"
#include "graphd/tensor.h"

// Blocks (message flow graphs) made of sampled neighbours, and the mini-batches made of them.

namespace GRAPHD_EXPORT graphd {

// One edge type's part of a block. Local ids are positions in the block's src_nodes / dst_nodes.
struct BlockEdges {
  EdgeTypeId etype = 0;
  std::vector<int64_t> indptr;    // [destinations of the type + 1]
  std::vector<int32_t> indices;   // local source ids
  std::vector<int64_t> edge_ids;  // type-wise ids; empty unless asked for
  std::vector<float> weights;     // importance of each edge, from samplers that give it; else empty
};

// One layer of a mini-batch, as dgl.to_block makes it: sources begin with the destinations
// (include_dst_in_src), then newly met neighbours in order of appearance.
struct Block {
  std::vector<std::vector<int64_t>> src_nodes;  // [ntype] type-wise ids
  std::vector<int64_t> num_dst;                 // [ntype] the first num_dst of src_nodes
  std::vector<BlockEdges> edges;                // one per edge type of the schema
  // [ntype] of each source node: the seed whose tree it is in, as a position in the batch's seeds,
  // those of lower node types first. From TemporalSampler; else empty.
  std::vector<std::vector<int64_t>> roots = {};

  std::span<const int64_t> dst_nodes(NodeTypeId t) const {
    return std::span(src_nodes[static_cast<size_t>(t)])
        .first(static_cast<size_t>(num_dst[static_cast<size_t>(t)]));
  }
  int64_t num_edges() const noexcept;
};

// Makes a block of sampled in-neighbours: matches dgl.to_block. `dst_nodes` is indexed by node type
// and must not hold duplicates; samples[e].indptr must fit dst_nodes of that edge type's
// destination. Throws Error(kInvalid) where that is not so, and on samples of out-edges.
Block ToBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
              std::vector<Neighbors> samples);

// A mini-batch of a GNN with several layers. Matches what DGL's NeighborSampler yields.
struct MiniBatch {
  int64_t index = 0;                        // position in the epoch
  std::vector<std::vector<int64_t>> seeds;  // [ntype] output nodes, unique but for trees
  std::vector<Block> blocks;                // input layer first
  std::vector<Tensor> input_features;       // as asked for, rows of input_nodes()
  std::vector<Tensor> seed_features;        // as asked for, rows of seeds

  const std::vector<int64_t>& input_nodes(NodeTypeId t = 0) const {
    return blocks.empty() ? seeds[static_cast<size_t>(t)]
                          : blocks.front().src_nodes[static_cast<size_t>(t)];
  }
};

}  // namespace graphd
