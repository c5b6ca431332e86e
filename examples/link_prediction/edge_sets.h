// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "graphd/dist_graph.h"

namespace link_prediction {

enum class EdgeSet : uint8_t { kTrain, kValid, kTest };

// Returns the set of the edges between two nodes: 80, 10 and 10 %, by a hash of the two. Edges in
// the opposite direction are in the same set, because one reveals the other.
EdgeSet SetOf(int64_t u, int64_t v);

// The edges to predict, divided into sets. Every trainer computes the same sets and stores the ends
// of all edges of the type: 16 bytes per edge.
class EdgeSets {
 public:
  // `reverse`: the edge type with the same edges in the opposite direction; may be `etype` itself.
  // Throws graphd::Error(kInvalid) if it does not join the same node types, or if a set has no
  // edges.
  EdgeSets(const graphd::DistGraph& graph, graphd::EdgeTypeId etype, graphd::EdgeTypeId reverse);

  graphd::EdgeTypeId etype() const noexcept { return etype_; }
  graphd::EdgeTypeId reverse() const noexcept { return reverse_; }
  // The ends of every edge, indexed by id.
  const graphd::EdgeEnds& ends() const noexcept { return ends_; }
  int64_t size(EdgeSet set) const { return sizes_[static_cast<size_t>(set)]; }
  // Returns one byte per edge of the type: 1 if it is in the set.
  graphd::Tensor Mask(EdgeSet set) const;

  // The [etype] ids of the edges that must be excluded from sampling: those of the validation and
  // test sets, and their reverse edges.
  const std::vector<std::vector<int64_t>>& held_out() const noexcept { return held_out_; }

  bool IsTraining(int64_t src, int64_t dst) const;

  // The number of training edges that lead to each destination: the input of a predictor that uses
  // popularity.
  const std::vector<float>& popularity() const noexcept { return popularity_; }
  // The destination of each training edge: a random one of them is drawn by popularity.
  const std::shared_ptr<const std::vector<int64_t>>& training_dst() const noexcept {
    return training_dst_;
  }

 private:
  graphd::EdgeTypeId etype_, reverse_;
  graphd::EdgeEnds ends_;
  std::vector<EdgeSet> set_of_;  // indexed by edge id
  int64_t sizes_[3] = {0, 0, 0};
  std::vector<std::vector<int64_t>> held_out_;
  std::vector<std::pair<int64_t, int64_t>> training_;  // sorted
  std::vector<float> popularity_;
  std::shared_ptr<const std::vector<int64_t>> training_dst_;
};

}  // namespace link_prediction
