// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>
#include <utility>
#include <vector>

#include "graphd/data_loader.h"

namespace graphd {

// The features that a loader's options ask for, found once and fetched for every batch.
// Thread-safe.
class BatchFeatures {
 public:
  // Throws Error(kNotFound) or Error(kInvalid) on a feature or type that is not there.
  BatchFeatures(const DistGraph& graph, const LoaderOptions& options);

  // Fills input_features, seed_features and edge_features of a batch. Returns early, leaving some
  // out, if `stop` is requested.
  void Fetch(NodeBatch& batch, const std::stop_token& stop) const;

 private:
  struct OfType {
    int32_t type;
    DistTensor tensor;
  };
  std::vector<OfType> inputs_, seeds_, edges_;
};

}  // namespace graphd
