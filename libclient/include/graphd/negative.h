// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Negative edges: pairs of nodes that are not connected, for training link predictors. The names
// match dgl.dataloading.negative_sampler.

namespace GRAPHD_EXPORT graphd {

// Negative edges of one type as pairs of type-wise ids: edge i would go from src[i] to dst[i].
struct NegativeEdges {
  std::vector<int64_t> src, dst;
};

// The interface of samplers of negative edges. Derive from it to add another rule. Implementations
// must be thread-safe: loaders call one object from several threads at once.
class NegativeSampler {
 public:
  virtual ~NegativeSampler() = default;
  // Returns negative edges of type `etype` for its positive edges src[i] -> dst[i], given as
  // type-wise ids in lists of equal length. The result must be a function of the arguments. Throws
  // Error(kInvalid) on a type or id out of range, and Error(kUnavailable) or Error(kDeadline) if a
  // daemon does not answer.
  virtual NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype,
                               std::span<const int64_t> src, std::span<const int64_t> dst,
                               uint64_t seed) const = 0;
  // Does the same for loaders, which also know the ids of the positive edges. Rules that depend on
  // more than the edges' endpoints override it. The default implementation calls Sample.
  virtual NegativeEdges SampleFor(const DistGraph& graph, EdgeTypeId etype,
                                  std::span<const int64_t> eids, std::span<const int64_t> src,
                                  std::span<const int64_t> dst, uint64_t seed) const;
};

// The settings of GlobalUniformNegatives.
struct GlobalNegativeOptions {
  EdgeTypeId etype = 0;            // edge type of the negative edges
  bool exclude_self_loops = true;  // no pair of a node with itself, if both node types are the same
  bool replace = false;            // false: all pairs are different
  // The number of pairs drawn in excess before the servers check them, as a share of the pairs that
  // are still missing. 0: derived from the density of the graph.
  double redundancy = 0;
  uint64_t seed = 0;  // random seed
};

// Returns up to `num_samples` pairs, drawn uniformly from those that are not an edge of the type in
// any partition. Works by rejection: each round sends a message to every partition that is not
// mapped and owns one of the destinations. As in DGL there may be fewer pairs: the function gives
// up after drawing about 64 pairs per sample, which happens if nearly all pairs are edges or
// already chosen. Matches dgl.sampling.global_uniform_negative_sampling, which gives up after 3
// draws. Thread-safe.
//
// Throws Error(kInvalid) on a type out of range, num_samples outside 0..2^30 and a redundancy
// outside 0..1000, and Error(kUnavailable) or Error(kDeadline) if a daemon does not answer.
NegativeEdges GlobalUniformNegatives(const DistGraph& graph, int64_t num_samples,
                                     const GlobalNegativeOptions& options = {});

namespace negative_sampler {

// Makes k negative edges for each positive one, in the order of the positive edges. The source is
// kept and the destination is uniform among all nodes of its type. No server is contacted. As in
// DGL, a pair may be an edge of the graph; GlobalUniform avoids that. Matches
// dgl.dataloading.negative_sampler.PerSourceUniform. Thread-safe.
class PerSourceUniform final : public NegativeSampler {
 public:
  // Throws Error(kInvalid) unless k is in 1..2^20.
  explicit PerSourceUniform(int k);
  // Returns k * src.size() edges. Throws also Error(kInvalid) if these are more than 2^30.
  NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                       std::span<const int64_t> dst, uint64_t seed) const override;

 private:
  int k_;
};

// Another name of PerSourceUniform, as in DGL.
using Uniform = PerSourceUniform;

// Makes k negative edges per positive one, or fewer, with GlobalUniformNegatives. Of the positive
// edges, only their number matters. Matches dgl.dataloading.negative_sampler.GlobalUniform.
// Thread-safe.
class GlobalUniform final : public NegativeSampler {
 public:
  // Throws Error(kInvalid) unless k is in 1..2^20 and redundancy in 0..1000.
  explicit GlobalUniform(int k, bool exclude_self_loops = true, bool replace = false,
                         double redundancy = 0);
  // Returns the edges; throws as GlobalUniformNegatives does.
  NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                       std::span<const int64_t> dst, uint64_t seed) const override;

 private:
  int k_;
  GlobalNegativeOptions options_;
};

}  // namespace negative_sampler
}  // namespace graphd
