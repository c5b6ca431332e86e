// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "graphd/negative.h"

// Negative samplers in addition to those of graphd/negative.h. As with negative_sampler::Uniform,
// the pairs keep their source, and a pair may be an edge.

namespace link_prediction {

// Returns k pairs for each positive edge, in the same order. Their destinations are those of random
// edges: popular nodes occur as often as in real edges, so popularity does not help to distinguish
// them.
class PopularDestinations final : public graphd::NegativeSampler {
 public:
  // `destinations`: those of the edges to draw from, not empty; by default, those of the batch
  // itself are drawn, which needs no more seeds. Throws graphd::Error(kInvalid) unless k is
  // 1..1000.
  explicit PopularDestinations(int k,
                               std::shared_ptr<const std::vector<int64_t>> destinations = nullptr);
  graphd::NegativeEdges Sample(const graphd::DistGraph& graph, graphd::EdgeTypeId etype,
                               std::span<const int64_t> src, std::span<const int64_t> dst,
                               uint64_t seed) const override;

 private:
  int k_;
  std::shared_ptr<const std::vector<int64_t>> destinations_;
};

// Returns the samples of two samplers, one after the other.
class Both final : public graphd::NegativeSampler {
 public:
  Both(std::shared_ptr<const graphd::NegativeSampler> first,
       std::shared_ptr<const graphd::NegativeSampler> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  graphd::NegativeEdges Sample(const graphd::DistGraph& graph, graphd::EdgeTypeId etype,
                               std::span<const int64_t> src, std::span<const int64_t> dst,
                               uint64_t seed) const override;

 private:
  std::shared_ptr<const graphd::NegativeSampler> first_, second_;
};

}  // namespace link_prediction
