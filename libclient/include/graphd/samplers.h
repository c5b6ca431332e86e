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

// Samplers that build the blocks of a mini-batch.

namespace GRAPHD_EXPORT graphd {

// The name of a feature of one node type, to be read with a batch.
struct FeatureOfType {
  NodeTypeId ntype = 0;
  std::string name;
};

// The arguments of BlockSampler::Sample.
struct BatchRequest {
  // [ntype] type-wise ids; duplicates are dropped, except by TemporalSampler.
  std::vector<std::vector<int64_t>> seeds;
  uint64_t seed = 0;  // random seed
  // [etype] type-wise ids of edges that are never sampled.
  std::vector<std::vector<int64_t>> exclude = {};
  std::vector<FeatureOfType> input_features = {};  // features of the batch's input nodes
  std::vector<FeatureOfType> seed_features = {};   // features of the batch's seeds
  // [ntype][seed] the query time of each seed on an integer time column, for TemporalSampler
  // (temporal_sampler.h). Other samplers ignore it.
  std::vector<std::vector<int64_t>> seed_times = {};
  // [ntype][seed] the same for a floating-point time column.
  std::vector<std::vector<double>> seed_real_times = {};
};

// The interface of samplers. Thread-safe: one object serves all workers of a loader.
class BlockSampler {
 public:
  virtual ~BlockSampler() = default;
  // Samples a mini-batch. The same request gives the same batch. Throws Error(kInvalid) on seeds,
  // edges or types out of range, Error(kNotFound) on unknown features, Error(kUnavailable),
  // Error(kDeadline).
  virtual MiniBatch Sample(const DistGraph& graph, BatchRequest request) const = 0;
  // Returns the number of blocks of a mini-batch.
  virtual size_t num_layers() const noexcept = 0;

  // Samples a mini-batch for seeds [ntype] of type-wise ids, without features.
  MiniBatch Sample(const DistGraph& graph, std::vector<std::vector<int64_t>> seeds,
                   uint64_t seed) const {
    return Sample(graph, BatchRequest{std::move(seeds), seed});
  }
};

// A sampler of any class, passed to loaders by value or as a shared pointer.
class AnySampler {
 public:
  // Makes a copy of the sampler.
  template <std::derived_from<BlockSampler> Sampler>
  AnySampler(Sampler sampler) : sampler_(std::make_shared<const Sampler>(std::move(sampler))) {}
  // Shares the sampler. Throws Error(kInvalid) on a null pointer.
  template <std::derived_from<BlockSampler> Sampler>
  AnySampler(std::shared_ptr<Sampler> sampler) : sampler_(std::move(sampler)) {
    if (!sampler_) throw Error(ErrorCode::kInvalid, "the sampler is a null pointer; make one");
  }
  // Returns the sampler.
  const BlockSampler* operator->() const noexcept { return sampler_.get(); }

 private:
  std::shared_ptr<const BlockSampler> sampler_;
};

// The fanouts of a sampler per layer, input layer first, and per node or edge type.
class LayerFanouts {
 public:
  // Takes one fanout per layer, for all types. Throws Error(kInvalid) on a fanout below -1.
  explicit LayerFanouts(const std::vector<int>& fanouts);
  // Takes fanouts[layer][type] (DGL: a list of dicts). Types beyond the end of a list have fanout
  // 0. Throws Error(kInvalid) on a fanout below -1.
  LayerFanouts(std::vector<std::vector<int>> fanouts);
  // Returns the number of layers.
  size_t num_layers() const noexcept { return fanouts_.size(); }
  // Returns the fanouts of a layer, [num_types]. Throws Error(kInvalid) if the layer lists more
  // types.
  std::vector<int> OfTypes(size_t layer, int32_t num_types) const;

 private:
  std::vector<std::vector<int>> fanouts_;
  bool same_for_all_ = false;  // fanouts_[layer][0] applies to every type
};

// The settings of a NeighborSampler.
struct NeighborOptions {
  bool replace = false;   // sample with replacement
  bool edge_ids = false;  // return the ids of the sampled edges in the blocks
  SamplingMethod method = SamplingMethod::kUniform;  // rule for choosing neighbours
  // Edge feature that the method uses. An edge type without it is sampled uniformly, as DGL does
  // with `prob`; if no edge type has it, Sample throws Error(kNotFound).
  std::string column = {};
  bool largest = true;  // kTopK: the largest values; false: the smallest
};

// Samples up to `fanout` neighbours per node and layer, from the seeds to the input nodes. Each hop
// sends one message to each partition that is not mapped; the features of the nodes that one hop
// has found are read in the messages of the next hop. Matches dgl.dataloading.NeighborSampler
// (MultiLayerNeighborSampler) and, with fanouts {-1, ...}, MultiLayerFullNeighborSampler.
// Thread-safe.
class NeighborSampler final : public BlockSampler {
 public:
  // `fanouts` has one fanout per layer, input layer first, as in DGL, for every edge type. Throws
  // Error(kInvalid) on a fanout below -1.
  explicit NeighborSampler(std::vector<int> fanouts, bool replace = false, bool edge_ids = false);
  // Does the same with all settings.
  NeighborSampler(std::vector<int> fanouts, NeighborOptions options);
  // Takes fanouts[layer][etype], as a std::vector<std::vector<int>>. Throws Error(kInvalid) on a
  // fanout below -1.
  NeighborSampler(LayerFanouts fanouts, NeighborOptions options);

  using BlockSampler::Sample;
  // Samples a mini-batch; throws as BlockSampler::Sample does.
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override;
  // Returns the number of blocks of a mini-batch.
  size_t num_layers() const noexcept override { return fanouts_.num_layers(); }

 private:
  LayerFanouts fanouts_;
  NeighborOptions options_;
};

// Returns a sampler for LABOR-0 (SamplingMethod::kLabor). As in uniform sampling each seed gets
// min(fanout, degree) neighbours, and every set of them is equally likely; but the seeds of a layer
// choose the same neighbours where possible, so that a batch has fewer input nodes. The mean over
// the chosen neighbours of a seed stays unbiased. With options.column, neighbours of larger weight
// are preferred; options.method is ignored. Matches dgl.dataloading.LaborSampler with
// importance_sampling=0 and layer_dependency=False, except that the number of neighbours of a seed
// is exact, whereas in DGL only its mean is.
inline NeighborSampler LaborSampler(std::vector<int> fanouts, NeighborOptions options = {}) {
  options.method = SamplingMethod::kLabor;
  return NeighborSampler(std::move(fanouts), std::move(options));
}

}  // namespace graphd
