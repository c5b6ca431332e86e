// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "client/routing/graph_access.h"
#include "graphd/samplers.h"

namespace graphd {

// The features of one batch, which are read while the batch is sampled: the rows of the nodes that
// a hop has found are requested together with the next hop. Not thread-safe.
class FeatureRows {
 public:
  // Throws Error(kNotFound) or Error(kInvalid) on features or types that do not exist.
  FeatureRows(GraphAccess& access, std::vector<FeatureOfType> input,
              std::vector<FeatureOfType> seed);

  // Returns the rows to request with a hop whose seeds are `frontier`: the rows of the nodes that
  // the previous frontier did not have. The first frontier is the seeds. frontier[ntype] must begin
  // with the list of the previous frontier. Returns no rows if all partitions are mapped.
  std::vector<HopRows> With(const std::vector<std::vector<int64_t>>& frontier);
  // Reads the remaining rows, possibly all, and moves the features into the batch.
  void Finish(MiniBatch& batch);

 private:
  struct Wanted {
    FeatureOfType feature;
    Tensor of_seeds;             // rows of seed features
    std::vector<Tensor> pieces;  // rows of input features, one piece per frontier
  };
  Tensor NewRows(const FeatureOfType& feature, size_t count) const;
  Tensor Ask(const FeatureOfType& feature, size_t begin, size_t end,
             std::vector<HopRows>& rows) const;
  void AskOfSeeds(const std::vector<std::vector<int64_t>>& seeds, std::vector<HopRows>& rows);

  GraphAccess& access_;
  std::vector<Wanted> input_, seed_;
  std::vector<size_t> known_;  // [ntype] nodes whose rows are read or requested
  bool has_seeds_ = false;
};

}  // namespace graphd
