// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "client/routing/graph_access.h"
#include "graphd/samplers.h"

namespace graphd {

// Reads the features of one batch during its sampling: rows of the nodes that one hop found are
// requested together with the next hop. For use by one thread.
class FeatureRows {
 public:
  // Throws Error(kNotFound) or Error(kInvalid) on features or types that do not exist.
  FeatureRows(GraphAccess& access, std::vector<FeatureOfType> input,
              std::vector<FeatureOfType> seed);

  // Returns the rows to request with a hop on `frontier` ([ntype], each list beginning with that of
  // the previous frontier): those of its new nodes. The first frontier is the seeds. Returns no
  // rows if all partitions are mapped.
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
