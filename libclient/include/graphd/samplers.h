// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graphd/block.h"
#include "graphd/dist_graph.h"
#include "graphd/export.h"

// What makes the blocks of a mini-batch. Loaders call a sampler from several threads.

namespace GRAPHD_EXPORT graphd {

// A node feature of one type, to be read with a batch.
struct FeatureOfType {
  NodeTypeId ntype = 0;
  std::string name;
};

// What a sampler is asked for.
struct BatchRequest {
  std::vector<std::vector<int64_t>> seeds;         // [ntype]; duplicates are dropped
  uint64_t seed = 0;                               // of the random stream
  std::vector<std::vector<int64_t>> exclude = {};  // [etype] edges never to sample, type-wise ids
  std::vector<FeatureOfType> input_features = {};  // of the batch's input nodes
  std::vector<FeatureOfType> seed_features = {};   // of its seeds
  // When each seed asks, [ntype][seeds of the type]: for TemporalSampler (temporal_sampler.h);
  // others don't look at them.
  std::vector<std::vector<int64_t>> seed_times = {};
  std::vector<std::vector<double>> seed_real_times = {};
};

// Thread-safe: one object serves all workers of a loader.
class BlockSampler {
 public:
  virtual ~BlockSampler() = default;
  // Throws Error(kInvalid) on seeds, edges or types out of range, Error(kNotFound) on unknown
  // features, Error(kUnavailable), Error(kDeadline).
  virtual MiniBatch Sample(const DistGraph& graph, BatchRequest request) const = 0;
  // The layers that it makes.
  virtual size_t num_layers() const noexcept = 0;

  MiniBatch Sample(const DistGraph& graph, std::vector<std::vector<int64_t>> seeds,
                   uint64_t seed) const {
    return Sample(graph, BatchRequest{std::move(seeds), seed});
  }
};

// A sampler of any kind, as loaders take it: by value or shared. Throws Error(kInvalid) on a null
// pointer.
class AnySampler {
 public:
  template <std::derived_from<BlockSampler> Sampler>
  AnySampler(Sampler sampler) : sampler_(std::make_shared<const Sampler>(std::move(sampler))) {}
  template <std::derived_from<BlockSampler> Sampler>
  AnySampler(std::shared_ptr<Sampler> sampler) : sampler_(std::move(sampler)) {
    if (!sampler_) throw Error(ErrorCode::kInvalid, "the sampler is a null pointer; make one");
  }
  const BlockSampler* operator->() const noexcept { return sampler_.get(); }

 private:
  std::shared_ptr<const BlockSampler> sampler_;
};

// Fanouts per layer, input layer first, as samplers hold them.
class LayerFanouts {
 public:
  // One for all types. Both throw Error(kInvalid) on a fanout below -1.
  explicit LayerFanouts(const std::vector<int>& fanouts);
  // [layer][type]; types beyond a list's end have fanout 0. (DGL: a list of dicts.)
  LayerFanouts(std::vector<std::vector<int>> fanouts);
  size_t num_layers() const noexcept { return fanouts_.size(); }
  // Of each type. Throws Error(kInvalid) if the layer has more than `num_types`.
  std::vector<int> OfTypes(size_t layer, int32_t num_types) const;

 private:
  std::vector<std::vector<int>> fanouts_;
  bool same_for_all_ = false;  // fanouts_[layer][0] counts for every type
};

struct NeighborOptions {
  bool replace = false;
  bool edge_ids = false;  // tell the sampled edges' ids in the blocks
  SamplingMethod method = SamplingMethod::kUniform;
  // Edge feature that the method uses. An edge type that does not have it is sampled uniformly, as
  // DGL does with `prob`; a column that no type has is Error(kNotFound).
  std::string column = {};
  bool largest = true;  // kTopK
};

// Samples `fanouts` neighbours per layer, from the seeds inwards: each hop is one message to each
// partition that is not mapped, and features of the nodes found by one hop travel with the next.
// Matches dgl.dataloading.NeighborSampler (MultiLayerNeighborSampler), with fanouts {-1, ...}
// MultiLayerFullNeighborSampler.
class NeighborSampler final : public BlockSampler {
 public:
  // `fanouts` is per layer, input layer first (DGL's order); each is applied to every edge type.
  // Throws Error(kInvalid) on a fanout below -1.
  explicit NeighborSampler(std::vector<int> fanouts, bool replace = false, bool edge_ids = false);
  NeighborSampler(std::vector<int> fanouts, NeighborOptions options);
  // fanouts[layer][etype], as a std::vector<std::vector<int>>.
  NeighborSampler(LayerFanouts fanouts, NeighborOptions options);

  using BlockSampler::Sample;
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  size_t num_layers() const noexcept override { return fanouts_.num_layers(); }

 private:
  LayerFanouts fanouts_;
  NeighborOptions options_;
};

// LABOR-0 (SamplingMethod::kLabor): like uniform sampling each seed gets min(fanout, degree)
// neighbours, any set of them equally likely, but seeds of a layer choose the same neighbours where
// they can, so that a batch has fewer input nodes; the mean over a row stays unbiased. With
// options.column neighbours of larger weight are favoured. Matches dgl.dataloading.LaborSampler
// with importance_sampling=0 and layer_dependency=False, except that a row's number of neighbours
// is exact, not exact on average. options.method is not used.
inline NeighborSampler LaborSampler(std::vector<int> fanouts, NeighborOptions options = {}) {
  options.method = SamplingMethod::kLabor;
  return NeighborSampler(std::move(fanouts), std::move(options));
}

}  // namespace graphd
