// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "graphd/samplers.h"

namespace link_prediction {

// A NeighborSampler that always excludes some edges. With the edges held out for validation and
// test, only training edges carry messages, in training and in evaluation. The loader also excludes
// the edges of its own batch.
class TrainingEdgesSampler final : public graphd::BlockSampler {
 public:
  // `held_out`: [etype] ids.
  TrainingEdgesSampler(graphd::NeighborSampler sampler, std::vector<std::vector<int64_t>> held_out)
      : sampler_(std::move(sampler)), held_out_(std::move(held_out)) {}

  graphd::MiniBatch Sample(const graphd::DistGraph& graph,
                           graphd::BatchRequest request) const override;
  size_t num_layers() const noexcept override { return sampler_.num_layers(); }

 private:
  graphd::NeighborSampler sampler_;
  std::vector<std::vector<int64_t>> held_out_;
};

}  // namespace link_prediction
