// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/export.h"
#include "graphd/sampling.h"
#include "graphd/tensor.h"

// Blocks (message flow graphs, MFGs) built from sampled neighbours, and mini-batches of blocks.

namespace GRAPHD_EXPORT graphd {

// The edges of one type in a block, in CSC format. The local id of a source is its position in the
// block's src_nodes of the edges' source type; the local id of a destination is its position in
// dst_nodes of their destination type.
struct BlockEdges {
  EdgeTypeId etype = 0;
  // [destinations + 1]; in-edges of destination i are [indptr[i], indptr[i+1]).
  std::vector<int64_t> indptr;
  std::vector<int32_t> indices;   // [edges] local ids of the sources
  std::vector<int64_t> edge_ids;  // [edges] type-wise ids; empty unless requested
  // [edges] importance weights, from samplers that compute them; else empty.
  std::vector<float> weights;
};

// A layer of a mini-batch, as dgl.to_block builds it with include_dst_in_src=True: the source nodes
// begin with the destination nodes; the other sources follow in order of their first appearance.
struct Block {
  std::vector<std::vector<int64_t>> src_nodes;  // [ntype] type-wise ids
  std::vector<int64_t> num_dst;   // [ntype] src_nodes[t] begins with num_dst[t] destinations
  std::vector<BlockEdges> edges;  // [etype] one entry per edge type of the schema
  // [ntype][source node] the seed whose tree contains the node, as a position in the concatenation
  // of the batch's seeds by ascending node type. Set by TemporalSampler only; else empty.
  std::vector<std::vector<int64_t>> roots = {};

  // Returns the type-wise ids of the destination nodes of a type. `t` must be a node type of the
  // schema.
  std::span<const int64_t> dst_nodes(NodeTypeId t) const {
    return std::span(src_nodes[static_cast<size_t>(t)])
        .first(static_cast<size_t>(num_dst[static_cast<size_t>(t)]));
  }
  // Returns the number of edges of all types.
  int64_t num_edges() const noexcept;
};

// Builds a block from sampled in-neighbours. Matches dgl.to_block. `dst_nodes` is indexed by node
// type and must not hold duplicates; samples[e] must have the neighbours of each node of
// dst_nodes[t], where t is the destination type of its edges. Throws Error(kInvalid) if the
// arguments do not fit together and on samples of out-edges. Thread-safe.
Block ToBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
              std::vector<Neighbors> samples);

// A mini-batch for a GNN with several layers. Matches the output of DGL's NeighborSampler.
struct MiniBatch {
  int64_t index = 0;  // position in the epoch
  // [ntype] output nodes, unique except with TemporalSampler.
  std::vector<std::vector<int64_t>> seeds;
  std::vector<Block> blocks;           // one per layer, input layer first
  std::vector<Tensor> input_features;  // one per requested feature: its rows for input_nodes()
  std::vector<Tensor> seed_features;   // one per requested feature: its rows for `seeds`

  // Returns the type-wise ids of the input nodes of a type: the sources of the first block, or the
  // seeds if there are no blocks.
  const std::vector<int64_t>& input_nodes(NodeTypeId t = 0) const {
    return blocks.empty() ? seeds[static_cast<size_t>(t)]
                          : blocks.front().src_nodes[static_cast<size_t>(t)];
  }
};

}  // namespace graphd
