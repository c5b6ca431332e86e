// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>
#include <utility>
#include <vector>

#include "graphd/data_loader.h"

namespace graphd {

// The features that a loader's options request for every batch; they are checked once. The sampler
// reads the node features with its hops, and this class reads the edge features. Thread-safe.
class BatchFeatures {
 public:
  // Throws Error(kNotFound) or Error(kInvalid) on a feature or type that does not exist.
  BatchFeatures(const DistGraph& graph, const LoaderOptions& options);

  // Returns the request for a batch, for the sampler.
  BatchRequest Request(std::vector<std::vector<int64_t>> seeds, uint64_t seed) const;
  // Sets edge_features of a batch. If `stop` is requested, returns early, with some features
  // missing.
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
