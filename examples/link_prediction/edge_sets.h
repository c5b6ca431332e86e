// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "graphd/dist_graph.h"

namespace link_prediction {

enum class EdgeSet : uint8_t { kTrain, kValid, kTest };

// Which set the edges between two nodes are in: 80, 10 and 10 %, by a hash of the two. Edges that
// go the other way are in the same set: who has seen one knows the other.
EdgeSet SetOf(int64_t u, int64_t v);

// The edges that are to be predicted, divided. Every trainer computes the same, and holds the ends
// of all edges of the type: 16 bytes for each.
class EdgeSets {
 public:
  // `reverse`: the edge type that tells the same from the other end; may be `etype` itself. Throws
  // graphd::Error(kInvalid) if it doesn't join the same node types, or a set has no edges.
  EdgeSets(const graphd::DistGraph& graph, graphd::EdgeTypeId etype, graphd::EdgeTypeId reverse);

  graphd::EdgeTypeId etype() const noexcept { return etype_; }
  graphd::EdgeTypeId reverse() const noexcept { return reverse_; }
  // The ends of every edge, by id.
  const graphd::EdgeEnds& ends() const noexcept { return ends_; }
  int64_t size(EdgeSet set) const { return sizes_[static_cast<size_t>(set)]; }
  // One byte per edge of the type: 1 if it is in the set.
  graphd::Tensor Mask(EdgeSet set) const;

  // [etype] ids of the edges that no model may see when it samples: those of the validation and
  // test set, and the reverse ones.
  const std::vector<std::vector<int64_t>>& held_out() const noexcept { return held_out_; }

  bool IsTraining(int64_t src, int64_t dst) const;

  // By destination: training edges that lead to it. What a predictor knows that goes by popularity.
  const std::vector<float>& popularity() const noexcept { return popularity_; }
  // The destination of each training edge: drawing one of these is drawing by popularity.
  const std::shared_ptr<const std::vector<int64_t>>& training_dst() const noexcept {
    return training_dst_;
  }

 private:
  graphd::EdgeTypeId etype_, reverse_;
  graphd::EdgeEnds ends_;
  std::vector<EdgeSet> set_of_;  // by edge id
  int64_t sizes_[3] = {0, 0, 0};
  std::vector<std::vector<int64_t>> held_out_;
  std::vector<std::pair<int64_t, int64_t>> training_;  // sorted
  std::vector<float> popularity_;
  std::shared_ptr<const std::vector<int64_t>> training_dst_;
};

}  // namespace link_prediction
