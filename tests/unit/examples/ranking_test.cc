// SPDX-License-Identifier: Apache-2.0
#include "link_prediction/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace link_prediction {
namespace {

TEST(RankingTest, CountsTheNegativesThatAnEdgeIsRankedAbove) {
  Ranking ranking;
  ranking.Add(0.5F, std::vector<float>{0.9F, 0.1F, 0.2F, 0.3F});
  EXPECT_DOUBLE_EQ(ranking.Auc(), 0.75);
  EXPECT_DOUBLE_EQ(ranking.Mrr(), 0.5);
  ranking.Add(1.0F, std::vector<float>{0.0F, 0.5F});  // the edge ranks first
  EXPECT_DOUBLE_EQ(ranking.Auc(), 0.875);
  EXPECT_DOUBLE_EQ(ranking.Mrr(), 0.75);
}

TEST(RankingTest, EqualScoresAreWorthAsMuchAsAGuess) {
  Ranking ranking;
  ranking.Add(1.0F, std::vector<float>(4, 1.0F));
  EXPECT_DOUBLE_EQ(ranking.Auc(), 0.5);
  EXPECT_DOUBLE_EQ(ranking.Mrr(), 1.0 / 3);
}

TEST(RankingTest, ScoresThatAreNotNumbersRankLast) {
  Ranking ranking;
  ranking.Add(NAN, std::vector<float>{0.0F, 1.0F, NAN});
  EXPECT_DOUBLE_EQ(ranking.Auc(), 0);
  EXPECT_DOUBLE_EQ(ranking.Mrr(), 0.25);
}

TEST(RankingTest, AnEdgeWithoutNegativesDoesNotCount) {
  Ranking ranking;
  ranking.Add(1.0F, {});
  EXPECT_EQ(ranking.edges, 0);
}

}  // namespace
}  // namespace link_prediction
