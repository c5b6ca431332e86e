// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace link_prediction {

// The quality of scores: how consistently they rank edges above other pairs. Holds sums over
// positive edges, which can be added over several trainers.
struct Ranking {
  double auc = 0;              // sum over edges of the share of negatives ranked below the edge
  double reciprocal_rank = 0;  // sum of 1 / rank among the negatives
  double edges = 0;

  // Adds one positive edge with its negatives; an edge without negatives does not count. A tie
  // counts half for both, so a constant score has an AUC of 0.5. NaN is ranked last.
  void Add(float positive, std::span<const float> negatives);
  double Auc() const { return auc / edges; }
  double Mrr() const { return reciprocal_rank / edges; }
};

}  // namespace link_prediction
