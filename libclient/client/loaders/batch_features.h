// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>
#include <utility>
#include <vector>

#include "graphd/data_loader.h"

namespace graphd {

// The features that a loader's options ask for, checked once and fetched for every batch: those of
// nodes by the sampler, with its hops, those of edges here. Thread-safe.
class BatchFeatures {
 public:
  // Throws Error(kNotFound) or Error(kInvalid) on a feature or type that is not there.
  BatchFeatures(const DistGraph& graph, const LoaderOptions& options);

  // What to ask the sampler for.
  BatchRequest Request(std::vector<std::vector<int64_t>> seeds, uint64_t seed) const;
  // Fills edge_features of a batch. Returns early, leaving some out, if `stop` is requested.
  void FetchOfEdges(NodeBatch& batch, const std::stop_token& stop) const;

 private:
  struct OfType {
    EdgeTypeId type;
    DistTensor tensor;
  };
  std::vector<FeatureOfType> inputs_, seeds_;
  std::vector<OfType> edges_;
};

}  // namespace graphd
