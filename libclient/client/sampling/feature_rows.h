// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "client/routing/graph_access.h"
#include "graphd/samplers.h"

namespace graphd {

// Reads a batch's features while it is sampled: rows of the nodes that one hop found travel with
// the next. One thread, one batch.
class FeatureRows {
 public:
  // Throws Error(kNotFound), Error(kInvalid).
  FeatureRows(GraphAccess& access, std::vector<FeatureOfType> input,
              std::vector<FeatureOfType> seed);

  // Rows to ask for with a hop on `frontier` ([ntype], beginning with the frontier before): those
  // of nodes that are new in it. The first frontier is the seeds. None where all are mapped.
  std::vector<HopRows> With(const std::vector<std::vector<int64_t>>& frontier);
  // Reads what is missing, which may be all, and hands it to the batch.
  void Finish(MiniBatch& batch);

 private:
  struct Wanted {
    FeatureOfType feature;
    Tensor of_seeds;             // seed features
    std::vector<Tensor> pieces;  // input features, frontier by frontier
  };
  Tensor NewRows(const FeatureOfType& feature, size_t count) const;
  Tensor Ask(const FeatureOfType& feature, size_t begin, size_t end,
             std::vector<HopRows>& rows) const;
  void AskOfSeeds(const std::vector<std::vector<int64_t>>& seeds, std::vector<HopRows>& rows);

  GraphAccess& access_;
  std::vector<Wanted> input_, seed_;
  std::vector<size_t> known_;  // [ntype] nodes whose rows are read or under way
  bool has_seeds_ = false;
};

}  // namespace graphd
