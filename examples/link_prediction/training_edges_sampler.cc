// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/training_edges_sampler.h"

#include <algorithm>
#include <utility>

namespace link_prediction {

graphd::MiniBatch TrainingEdgesSampler::Sample(const graphd::DistGraph& graph,
                                               graphd::BatchRequest request) const {
  request.exclude.resize(std::max(request.exclude.size(), held_out_.size()));
  for (size_t e = 0; e < held_out_.size(); ++e) {
    request.exclude[e].insert(request.exclude[e].end(), held_out_[e].begin(), held_out_[e].end());
  }
  return sampler_.Sample(graph, std::move(request));
}

}  // namespace link_prediction
