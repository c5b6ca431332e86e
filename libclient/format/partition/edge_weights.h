// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"

namespace graphd {

// Positive integer weights derived from an edge feature by the rule of MakeMetisGraph
// (metis_graph.h). Immutable; safe to share between threads.
class EdgeWeights {
 public:
  // Scales the weights so that their sum over all stored edges is at most `max_sum`, which must be
  // at least the number of edges. Throws Error(kNotFound) if no edge type has the feature,
  // Error(kInvalid) unless it is one finite number of at least 0 for each edge.
  EdgeWeights(const RawGraph& graph, const std::string& feature, int64_t max_sum);

  int32_t of(EdgeTypeId etype, size_t stored_edge) const;

 private:
  double Value(size_t etype, size_t edge) const;
  std::vector<const Tensor*> features_;  // by edge type; null: all weigh 1
  double factor_ = 1;
};

}  // namespace graphd
