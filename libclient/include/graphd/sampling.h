// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"

// Neighbour sampling over all partitions, and the blocks (message flow graphs) made of it.
//
// A sample is a pure function of (seed, layer, edge type, node): the same seed gives the same
// neighbours over RPC, through mapped memory and in standalone mode, whatever the number of
// threads, trainers or partitions served. It follows that a node listed twice in one call gets the
// same neighbours twice (DGL draws again). Functions here are thread-safe.

namespace graphd {

inline constexpr int kAllNeighbors = -1;

struct SampleOptions {
  int fanout = kAllNeighbors;  // neighbours per seed and edge type; -1: all; 0: none
  bool replace = false;        // with replacement: exactly fanout, if there is any in-edge
  uint64_t seed = 0;           // of the stream
  uint32_t layer = 0;          // separates the layers of one batch
  bool edge_ids = false;       // also tell the sampled edges' ids
};

// In-edges sampled for the seeds, one edge type: those of seeds[i] are
// [indptr[i], indptr[i+1]). All ids type-wise.
struct Neighbors {
  EdgeTypeId etype = 0;
  std::vector<int64_t> indptr;     // [seeds + 1]
  std::vector<int64_t> neighbors;  // source nodes
  std::vector<int64_t> edge_ids;   // empty unless asked for
};

// Uniform sampling of in-edges of `seeds` (nodes of the edge type's destination type). Matches
// dgl.distributed.sample_neighbors for one edge type: min(fanout, in-degree) neighbours without
// replacement. Order: by seed. Throws Error(kInvalid) on a seed out of range or a fanout below -1.
Neighbors SampleNeighbors(const DistGraph& graph, std::span<const int64_t> seeds,
                          const SampleOptions& options, EdgeTypeId etype = 0);

// One edge type's part of a block. Local ids are positions in the block's src_nodes / dst_nodes.
struct BlockEdges {
  EdgeTypeId etype = 0;
  std::vector<int64_t> indptr;    // [destinations of the type + 1]
  std::vector<int32_t> indices;   // local source ids
  std::vector<int64_t> edge_ids;  // type-wise ids; empty unless asked for
};

// One layer of a mini-batch, as dgl.to_block makes it: sources begin with the destinations
// (include_dst_in_src), then newly met neighbours in order of appearance.
struct Block {
  std::vector<std::vector<int64_t>> src_nodes;  // [ntype] type-wise ids
  std::vector<int64_t> num_dst;                 // [ntype] the first num_dst of src_nodes
  std::vector<BlockEdges> edges;                // one per edge type of the schema

  std::span<const int64_t> dst_nodes(NodeTypeId t) const {
    return std::span(src_nodes[static_cast<size_t>(t)])
        .first(static_cast<size_t>(num_dst[static_cast<size_t>(t)]));
  }
  int64_t num_edges() const noexcept;
};

// Makes a block of sampled neighbours: matches dgl.to_block. `dst_nodes` is indexed by node type
// and must not hold duplicates; samples[e].indptr must fit dst_nodes of that edge type's
// destination.
Block ToBlock(const Schema& schema, std::vector<std::vector<int64_t>> dst_nodes,
              std::vector<Neighbors> samples);

// A mini-batch of a GNN with several layers. Matches what DGL's NeighborSampler yields.
struct MiniBatch {
  int64_t index = 0;                        // position in the epoch
  std::vector<std::vector<int64_t>> seeds;  // [ntype] output nodes, unique
  std::vector<Block> blocks;                // input layer first
  std::vector<Tensor> input_features;       // as asked for, rows of input_nodes()
  std::vector<Tensor> seed_features;        // as asked for, rows of seeds

  const std::vector<int64_t>& input_nodes(NodeTypeId t = 0) const {
    return blocks.empty() ? seeds[static_cast<size_t>(t)]
                          : blocks.front().src_nodes[static_cast<size_t>(t)];
  }
};

// Samples the blocks of one batch. `fanouts` is per layer, input layer first (DGL's order); each is
// applied to every edge type. Duplicate seeds are dropped. Matches NeighborSampler.sample_blocks.
class NeighborSampler {
 public:
  explicit NeighborSampler(std::vector<int> fanouts, bool replace = false, bool edge_ids = false);
  const std::vector<int>& fanouts() const noexcept { return fanouts_; }
  // `seeds` by node type. Thread-safe.
  MiniBatch Sample(const DistGraph& graph, std::vector<std::vector<int64_t>> seeds,
                   uint64_t seed) const;

 private:
  std::vector<int> fanouts_;
  bool replace_, edge_ids_;
};

}  // namespace graphd
