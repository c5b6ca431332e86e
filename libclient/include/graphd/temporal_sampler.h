// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

// The settings of a TemporalSampler.
struct TemporalOptions {
  std::string column;      // edge feature with the time of each edge, of any numeric dtype; empty:
                           // edges have no times, and seeds need none
  bool recent = true;      // true: the latest edges before the seed's time; false: any of the
                           // edges before it, uniformly
  bool replace = false;    // if not `recent`: exactly `fanout` edges, if any is eligible
  bool inclusive = false;  // edges at the seed's time itself are eligible, too
  bool edge_ids = false;   // return the ids of the sampled edges in the blocks
};

// Samples neighbourhoods as they were at the query time of each seed, for models of events (TGN,
// TGAT): every hop takes only edges that are older than the time of the seed at the root of the
// tree. Matches PyG's NeighborLoader with time_attr on edges, temporal_strategy "last" or "uniform"
// and disjoint=True; PyG also takes edges at the time itself (inclusive = true). DGL has no such
// sampler.
//
// Each seed has a tree of its own, which shares no nodes with others. A node that several trees
// reach occurs in a block once for each of them, and Block::roots gives the tree of each
// occurrence; within one tree it occurs once. Seeds may be repeated, with equal or different times,
// and all are kept in order: batch.seeds[t] equals request.seeds[t]. Otherwise blocks are as
// NeighborSampler makes them, and the edges of a tree stay within the tree.
//
// Edge types without the column have no times: they are sampled uniformly. Without a column, the
// sampler only gives each seed a tree of its own, as PyG does with disjoint=True.
//
// Random choices depend on the batch's seed and on the position of the tree's root in the batch.
// Loaders of nodes and edges take times in their options (LoaderOptions::seed_times). Thread-safe.
class TemporalSampler final : public BlockSampler {
 public:
  // `fanouts` has one fanout per layer, input layer first, for every edge type. Throws
  // Error(kInvalid) on a fanout below -1, and on `recent` without a column or with `replace`.
  TemporalSampler(const std::vector<int>& fanouts, TemporalOptions options);
  // Takes fanouts[layer][etype], as a std::vector<std::vector<int>>. Throws the same errors.
  TemporalSampler(LayerFanouts fanouts, TemporalOptions options);

  using BlockSampler::Sample;
  // Samples a mini-batch. The times of the seeds are request.seed_times for an integer column and
  // request.seed_real_times for a floating-point column; for the latter, integer times up to 2^53
  // are accepted too. A NaN is neither before nor after any time. Throws as BlockSampler::Sample
  // does, Error(kInvalid) on times that are missing or differ in number from the seeds, and
  // Error(kNotFound) if no edge type has the column.
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  // Returns the number of blocks of a mini-batch.
  size_t num_layers() const noexcept override { return fanouts_.num_layers(); }

 private:
  LayerFanouts fanouts_;
  TemporalOptions options_;
};

}  // namespace graphd
