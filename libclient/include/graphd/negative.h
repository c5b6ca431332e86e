// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/dist_graph.h"

// Negative edges: pairs of nodes that a link predictor is told are not connected. Names match
// dgl.dataloading.negative_sampler.

namespace graphd {

// Pairs of type-wise ids: edge i would go from src[i] to dst[i].
struct NegativeEdges {
  std::vector<int64_t> src, dst;
};

// Makes negative edges for a batch of positive ones. Derive from it for rules of your own. Loaders
// call one object from several threads at once.
class NegativeSampler {
 public:
  virtual ~NegativeSampler() = default;
  // Negative edges of type `etype` for its positive edges src[i] -> dst[i] (type-wise ids, as many
  // of either). The same arguments give the same result, whoever asks. Throws Error(kInvalid) on a
  // type or id out of range, Error(kUnavailable), Error(kDeadline).
  virtual NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype,
                               std::span<const int64_t> src, std::span<const int64_t> dst,
                               uint64_t seed) const = 0;
};

namespace negative_sampler {

// k negative edges for each positive one, in the order of these: the source stays, the destination
// is uniform among all nodes of its type. Nothing is asked of any server. As in DGL the pair may
// happen to be an edge; GlobalUniform is for those who must not meet one. Matches
// dgl.dataloading.negative_sampler.PerSourceUniform.
class PerSourceUniform final : public NegativeSampler {
 public:
  // Throws Error(kInvalid) unless k is 1..2^20.
  explicit PerSourceUniform(int k);
  // Throws Error(kInvalid) also if there would be more than 2^30 negative edges.
  NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                       std::span<const int64_t> dst, uint64_t seed) const override;

 private:
  int k_;
};

// DGL's other name for it.
using Uniform = PerSourceUniform;

}  // namespace negative_sampler
}  // namespace graphd
