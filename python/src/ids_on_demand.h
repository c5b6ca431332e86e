// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/threads/mutex.h"
#include "graphd/edge_data_loader.h"
#include "graphd/samplers.h"

namespace graphd::python {

// A sampler that leaves out the ids of edges until somebody asks for the ids of a batch. Few models
// need them, and reading and sending them takes a quarter of the time of a batch. Thread-safe.
class IdsOnDemand final : public BlockSampler {
 public:
  // Takes two samplers that differ in nothing but the ids.
  IdsOnDemand(std::shared_ptr<const BlockSampler> without, std::shared_ptr<const BlockSampler> with)
      : without_(std::move(without)), with_(std::move(with)) {}

  using BlockSampler::Sample;
  MiniBatch Sample(const DistGraph& graph, BatchRequest request) const override {
    return (wanted_ ? with_ : without_)->Sample(graph, std::move(request));
  }
  size_t num_layers() const noexcept override { return without_->num_layers(); }

  // Makes all later batches with ids, because a caller that has used the ids of one batch will use
  // the ids of other batches.
  void WantIds() const noexcept { wanted_ = true; }
  // Samples a batch with ids, and all later ones too.
  MiniBatch SampleWithIds(const DistGraph& graph, BatchRequest request) const {
    WantIds();
    return with_->Sample(graph, std::move(request));
  }

 private:
  const std::shared_ptr<const BlockSampler> without_, with_;
  mutable std::atomic<bool> wanted_ = false;
};

// Returns whether a batch has the ids of its edges; true if it has no edges.
bool HasEdgeIds(const MiniBatch& batch);

// The ids of the edges of a batch that an IdsOnDemand has made without them. When somebody first
// asks for the ids, the batch is sampled again; the same request gives the same edges. Thread-safe.
class LateEdgeIds {
 public:
  LateEdgeIds(std::shared_ptr<const EdgeBatch> batch, std::shared_ptr<const DistGraph> graph,
              std::shared_ptr<const IdsOnDemand> sampler)
      : batch_(std::move(batch)), graph_(std::move(graph)), sampler_(std::move(sampler)) {}

  // Returns the ids of the edges of a type in a block, in their order there. Throws as Sample does.
  const std::vector<int64_t>& Of(size_t layer, size_t etype);

 private:
  using OfBlock = std::vector<std::vector<int64_t>>;  // [etype] the ids of a block's edges
  std::vector<OfBlock> SampleAgain() const;

  const std::shared_ptr<const EdgeBatch> batch_;
  const std::shared_ptr<const DistGraph> graph_;
  const std::shared_ptr<const IdsOnDemand> sampler_;
  Mutex mutex_;
  std::vector<OfBlock> ids_ GRAPHD_GUARDED_BY(mutex_);  // [layer]; empty: not yet asked for
};

}  // namespace graphd::python
