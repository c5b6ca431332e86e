// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/ranking.h"

namespace link_prediction {

void Ranking::Add(float positive, std::span<const float> negatives) {
  if (negatives.empty()) return;
  double before = 0, ties = 0;
  for (const float negative : negatives) {
    before += positive > negative ? 1 : 0;
    ties += positive == negative ? 1 : 0;
  }
  const auto all = static_cast<double>(negatives.size());
  auc += (before + ties / 2) / all;
  reciprocal_rank += 1 / (1 + (all - before - ties) + ties / 2);
  edges += 1;
}

}  // namespace link_prediction
