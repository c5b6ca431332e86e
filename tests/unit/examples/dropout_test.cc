// SPDX-License-Identifier: Apache-2.0
#include "common/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace examples {
namespace {

std::vector<float> Apply(uint64_t key, double p, const std::vector<float>& in) {
  std::vector<float> out(in.size());
  Dropout(key, p, in, out);
  return out;
}

TEST(Dropout, DropsTheGivenShareAndScalesTheRest) {
  const std::vector<float> ones(200'003, 1);
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<float> out = Apply(42, p, ones);
    double dropped = 0;
    for (const float value : out) {
      dropped += value == 0;
      if (value != 0) {
        ASSERT_NEAR(value, 1 / (1 - p), 1e-3);
      }
    }
    const double n = static_cast<double>(ones.size());
    // The tolerance is five standard deviations of a binomial distribution.
    EXPECT_NEAR(dropped / n, p, 5 * std::sqrt(p * (1 - p) / n)) << "p = " << p;
  }
}

TEST(Dropout, DependsOnItsKeyOnly) {
  const std::vector<float> ones(1000, 1);
  EXPECT_EQ(Apply(1, 0.5, ones), Apply(1, 0.5, ones));
  EXPECT_NE(Apply(1, 0.5, ones), Apply(2, 0.5, ones));
}

TEST(Dropout, OfProbabilityZeroIsTheIdentity) {
  const std::vector<float> in{1, -2, 3, 0.5f, 7};
  EXPECT_EQ(Apply(9, 0, in), in);
}

// Two consecutive keys must not drop the same places more often than by chance.
TEST(Dropout, OfConsecutiveKeysIsIndependent) {
  const std::vector<float> ones(100'000, 1);
  const std::vector<float> a = Apply(5, 0.5, ones), b = Apply(6, 0.5, ones);
  double both = 0;
  for (size_t i = 0; i < ones.size(); ++i) both += a[i] == 0 && b[i] == 0;
  EXPECT_NEAR(both / static_cast<double>(ones.size()), 0.25, 0.007);
}

}  // namespace
}  // namespace examples
