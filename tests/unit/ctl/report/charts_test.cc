// SPDX-License-Identifier: Apache-2.0
#include "ctl/report/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Charts, TextsAreEscaped) {
  EXPECT_EQ(Escaped("<a href=\"x\">&'\x01"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\uFFFD");
  EXPECT_EQ(Escaped("Größe"), "Größe");
  const std::string chart = ColumnChart("<t>", {{"<l>", 1, "<x>"}}, "<top>");
  for (const char* text : {"<t>", "<l>", "<x>", "<top>"}) EXPECT_THAT(chart, Not(HasSubstr(text)));
  EXPECT_THAT(chart, HasSubstr("&lt;l&gt;"));
}

TEST(Charts, HeightsAreInProportion) {
  const std::string chart =
      ColumnChart("title", {{"a", 4, ""}, {"b", 2, ""}, {"c", 0, ""}}, "4", 2.0);
  EXPECT_THAT(chart, HasSubstr("height=\"116.0\""));
  EXPECT_THAT(chart, HasSubstr("height=\"58.0\""));
  EXPECT_THAT(chart, HasSubstr("height=\"0.0\""));
  EXPECT_THAT(chart, HasSubstr("class=\"mean\""));
}

TEST(Charts, NothingHasNoChart) {
  EXPECT_EQ(ColumnChart("title", {}, "0"), "");
  EXPECT_EQ(SmallChart("title", {}), "");
  EXPECT_EQ(MatrixChart("title", {}, "to", "from"), "");
}

TEST(Charts, TheDarkestSquareHasTheMostOfOtherPartitions) {
  const std::string chart = MatrixChart("cut", {{900, 10}, {5, 1000}}, "to", "from");
  EXPECT_THAT(chart, HasSubstr("fill-opacity=\"0.750\"><title>10: to 0, from 1"));
  EXPECT_THAT(chart, HasSubstr("fill-opacity=\"0.375\"><title>5: to 1, from 0"));
  EXPECT_THAT(chart, HasSubstr("class=\"frame\"><title>1,000: to 1, from 1"));
}

}  // namespace
}  // namespace graphd::ctl
