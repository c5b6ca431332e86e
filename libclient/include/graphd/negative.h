// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Negative edges: pairs of nodes that a link predictor is told are not connected. Names match
// dgl.dataloading.negative_sampler.

namespace GRAPHD_EXPORT graphd {

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

struct GlobalNegativeOptions {
  EdgeTypeId etype = 0;
  bool exclude_self_loops = true;  // counts where both ends have one node type
  bool replace = false;            // false: no pair twice
  // How many pairs to draw beyond those that are missing, as a share of them, before the servers
  // are asked about them. 0: by the graph's density.
  double redundancy = 0;
  uint64_t seed = 0;
};

// `num_samples` pairs, uniform among those that are no edge of the type in any partition. By
// rejection: each round asks every partition that is not mapped and owns one of the destinations.
// As in DGL there may be fewer: when some 64 pairs per sample were drawn, what was found is
// returned. That happens if nearly all pairs are edges or are chosen already. Matches
// dgl.sampling.global_uniform_negative_sampling, which gives up after 3 draws.
//
// Throws Error(kInvalid) on a type out of range, num_samples outside 0..2^30, a redundancy that is
// negative or above 1000, Error(kUnavailable), Error(kDeadline).
NegativeEdges GlobalUniformNegatives(const DistGraph& graph, int64_t num_samples,
                                     const GlobalNegativeOptions& options = {});

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

// k negative edges per positive one, or fewer, from GlobalUniformNegatives; they have nothing to do
// with the positive ones but their number. Matches dgl.dataloading.negative_sampler.GlobalUniform.
class GlobalUniform final : public NegativeSampler {
 public:
  // Throws Error(kInvalid) unless k is 1..2^20 and redundancy 0..1000.
  explicit GlobalUniform(int k, bool exclude_self_loops = true, bool replace = false,
                         double redundancy = 0);
  NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                       std::span<const int64_t> dst, uint64_t seed) const override;

 private:
  int k_;
  GlobalNegativeOptions options_;
};

}  // namespace negative_sampler
}  // namespace graphd
