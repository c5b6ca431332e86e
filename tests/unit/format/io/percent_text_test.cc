// SPDX-License-Identifier: Apache-2.0
#include "format/io/percent_text.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(PercentText, HasNoExponentAndIsRounded) {
  EXPECT_EQ(PercentText(0, 8), "0 %");
  EXPECT_EQ(PercentText(0, 0), "0 %");
  EXPECT_EQ(PercentText(8, 8), "100 %");
  EXPECT_EQ(PercentText(1, 3), "33.3 %");
  EXPECT_EQ(PercentText(2, 800), "0.25 %");
  EXPECT_EQ(PercentText(1, 100'000), "0.001 %");
}

TEST(PercentText, MostIsNotAll) { EXPECT_EQ(PercentText(999'999, 1'000'000), "99.9 %"); }

}  // namespace
}  // namespace graphd
