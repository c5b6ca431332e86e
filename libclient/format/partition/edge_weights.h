// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"

namespace graphd {

// Positive integer weights made of an edge feature; MakeMetisGraph's comment has the rule.
class EdgeWeights {
 public:
  // The sum over all stored edges will be at most `max_sum`, which must be at least their number.
  // Throws Error(kNotFound) if no edge type has the feature, Error(kInvalid) if it is not one
  // finite number of at least 0 for each edge.
  EdgeWeights(const RawGraph& graph, const std::string& feature, int64_t max_sum);

  int32_t of(EdgeTypeId etype, size_t stored_edge) const;

 private:
  double Value(size_t etype, size_t edge) const;
  std::vector<const Tensor*> features_;  // by edge type; null: all weigh 1
  double factor_ = 1;
};

}  // namespace graphd
