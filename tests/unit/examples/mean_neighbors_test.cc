// SPDX-License-Identifier: Apache-2.0
#include "common/mean_neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace examples {
namespace {

using testing::ElementsAre;

struct RandomCsc {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  Csc view() const { return {indptr, indices}; }
};

// Returns random neighbours for destinations of degree 0, 1, 2 ... 9, 0, 1 ...
RandomCsc MakeCsc(int destinations, int sources, std::mt19937& random) {
  RandomCsc csc;
  for (int d = 0; d < destinations; ++d) {
    for (int i = 0; i < d % 10; ++i) {
      csc.indices.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(sources)));
    }
    csc.indptr.push_back(static_cast<int64_t>(csc.indices.size()));
  }
  return csc;
}

std::vector<float> RandomRows(size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> rows(size);
  for (float& value : rows) value = normal(random);
  return rows;
}

TEST(MeanNeighbors, AveragesTheRowsOfEachDestinationsNeighbours) {
  const std::vector<int64_t> indptr{0, 2, 2, 3};
  const std::vector<int32_t> indices{0, 2, 1};
  const std::vector<float> x{1, 10, 2, 20, 3, 30};
  std::vector<float> out(6, -1);
  MeanOfNeighbors({indptr, indices}, 2, x.data(), out.data());
  EXPECT_THAT(out, ElementsAre(2, 20, 0, 0, 2, 20));
}

TEST(MeanNeighbors, CountsANeighbourListedTwiceTwice) {
  const std::vector<int64_t> indptr{0, 3};
  const std::vector<int32_t> indices{0, 0, 1};
  const std::vector<float> x{3, 6};
  std::vector<float> out(1);
  MeanOfNeighbors({indptr, indices}, 1, x.data(), out.data());
  EXPECT_FLOAT_EQ(out[0], 4);
}

// <mean(x), y> == <x, spread(y)> for all x, y: the backward pass is the transpose of the forward
// pass. Widths that are not multiples of a vector's width test the remainders.
TEST(MeanNeighbors, SpreadingIsTheTransposeOfAveraging) {
  std::mt19937 random(7);
  for (const int width : {1, 3, 16, 33, 128}) {
    const auto w = static_cast<size_t>(width);
    const RandomCsc csc = MakeCsc(95, 40, random);
    const std::vector<float> x = RandomRows(40 * w, random), y = RandomRows(95 * w, random);
    std::vector<float> mean(95 * w), spread(40 * w, 0);
    MeanOfNeighbors(csc.view(), width, x.data(), mean.data());
    SpreadToNeighbors(csc.view(), width, y.data(), spread.data());
    double left = 0, right = 0;
    for (size_t i = 0; i < mean.size(); ++i) left += double{mean[i]} * double{y[i]};
    for (size_t i = 0; i < spread.size(); ++i) right += double{x[i]} * double{spread[i]};
    EXPECT_NEAR(left, right, 1e-3) << "width " << width;
  }
}

}  // namespace
}  // namespace examples
