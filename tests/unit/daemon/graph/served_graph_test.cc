// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/served_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const Schema schema({"user", "item"}, {{"user", "rates", "item"}, {"item", "rates", "user"}});
  try {
    ParseIndex(schema, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParseIndex, ReadsEveryKind) {
  const Schema schema({"user", "item"}, {{"user", "rates", "item"}, {"user", "knows", "user"}});
  const EdgeIndexSpec out{EdgeIndexKind::kOut, false, 1, ""};
  const EdgeIndexSpec alias{EdgeIndexKind::kAlias, false, 0, "weight"};
  const EdgeIndexSpec order{EdgeIndexKind::kOrder, false, 0, "time"};
  EXPECT_EQ(ParseIndex(schema, "out:knows"), out);
  EXPECT_EQ(ParseIndex(schema, "alias:user:rates:item/weight"), alias);
  EXPECT_EQ(ParseIndex(schema, "order:rates/time"), order);
}

TEST(ParseIndex, ReportsTheExpectedForm) {
  for (const char* text : {"", "out", "tree:rates", "alias:user:rates:item", "order:rates/",
                           "out:user:rates:item/x"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("expected out:EDGE_TYPE")) << text;
  }
  EXPECT_THAT(ErrorOf("out:rates"), HasSubstr("rates"));  // two types have that relation
  EXPECT_THAT(ErrorOf("out:nothing"), HasSubstr("nothing"));
}

}  // namespace
}  // namespace graphd
