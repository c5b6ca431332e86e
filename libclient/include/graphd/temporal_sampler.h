// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/samplers.h"

namespace GRAPHD_EXPORT graphd {

struct TemporalOptions {
  std::string column;      // edge feature: the time of each edge, a number of any dtype
  bool recent = true;      // the latest edges before the seed's time; false: any of them, uniformly
  bool replace = false;    // uniform only: exactly `fanout` edges, if any is eligible
  bool inclusive = false;  // also edges at the seed's time itself
  bool edge_ids = false;   // tell the sampled edges' ids in the blocks
};

// Neighbourhoods as they were when each seed asks, for models of events (TGN, TGAT): every hop
// takes only edges that are older than the time of the *seed* at the tree's root. Matches PyG's
// NeighborLoader with time_attr on edges, temporal_strategy "last" or "uniform" and disjoint=True;
// PyG also takes edges at the time itself (inclusive = true). DGL has no such sampler.
//
// Each seed has a tree of its own, which shares nothing with others. A node that several trees
// reach stands in a block once for each, and Block::roots tells which is whose; within one tree it
// stands once. Seeds may come several times, with different times or the same, and are all kept, in
// order: batch.seeds[t] equals request.seeds[t]. Otherwise blocks are as NeighborSampler makes
// them, and a tree's edges stay within the tree.
//
// Edge types without the column are always there: they are sampled uniformly, whatever the time.
//
// Which neighbours a tree gets at random depends on the batch's seed and on the position of its
// root in the batch. Loaders of nodes and edges take times in their options
// (LoaderOptions::seed_times).
class TemporalSampler final : public BlockSampler {
 public:
  // `fanouts` per layer, input layer first; each for every edge type. Throws Error(kInvalid) on a
  // fanout below -1, no column, or recent edges with replacement.
  TemporalSampler(const std::vector<int>& fanouts, TemporalOptions options);
  // fanouts[layer][etype], as a std::vector<std::vector<int>>.
  TemporalSampler(LayerFanouts fanouts, TemporalOptions options);

  using BlockSampler::Sample;
  // Times are request.seed_times where the column is of whole numbers and seed_real_times where it
  // is a floating-point one; for the latter whole times do too, up to 2^53. A NaN is before and
  // after nothing. Throws Error(kInvalid) on times that are missing or of another number than the
  // seeds, Error(kNotFound) if no edge type has the column.
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  size_t num_layers() const noexcept override { return fanouts_.num_layers(); }

 private:
  LayerFanouts fanouts_;
  TemporalOptions options_;
};

}  // namespace graphd
