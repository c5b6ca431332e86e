// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace link_prediction {

// How well scores put edges before pairs that are no edges; means over positive edges, so that sums
// of several trainers add up.
struct Ranking {
  double auc = 0;              // sum of the shares of its negatives that an edge is put before
  double reciprocal_rank = 0;  // sum of 1 / rank among the negatives
  double edges = 0;

  // One positive edge with its negatives; without any it doesn't count. A tie counts half for both:
  // a score that is the same for all has an AUC of 0.5. What is not a number comes last.
  void Add(float positive, std::span<const float> negatives);
  double Auc() const { return auc / edges; }
  double Mrr() const { return reciprocal_rank / edges; }
};

}  // namespace link_prediction
