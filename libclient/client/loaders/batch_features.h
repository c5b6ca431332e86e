// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>
#include <utility>
#include <vector>

#include "graphd/data_loader.h"

namespace graphd {

// Fetches the features that a loader's options request for every batch, after checking them once.
// Node features are read by the sampler, with its hops, edge features here. Thread-safe.
class BatchFeatures {
 public:
  // Throws Error(kNotFound) or Error(kInvalid) on a feature or type that does not exist.
  BatchFeatures(const DistGraph& graph, const LoaderOptions& options);

  // Returns the request for a batch, for the sampler.
  BatchRequest Request(std::vector<std::vector<int64_t>> seeds, uint64_t seed) const;
  // Sets edge_features of a batch. Returns early, with some missing, if `stop` is requested.
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
