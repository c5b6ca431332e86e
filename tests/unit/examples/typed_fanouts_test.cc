// SPDX-License-Identifier: Apache-2.0
#include "common/typed_fanouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace examples {
namespace {

using graphd::Error;
using graphd::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;

const graphd::Schema kShop({"user", "item"}, {{"user", "buys", "item"}, {"item", "like", "item"}});

TEST(TypedFanouts, ApplyToEveryEdgeTypeButTheExceptions) {
  EXPECT_THAT(TypedFanouts(kShop, {5, 10}, {}),
              ElementsAre(ElementsAre(5, 5), ElementsAre(10, 10)));
  EXPECT_THAT(TypedFanouts(kShop, {5, 10}, {"like=0,-1", "user:buys:item=7,65536"}),
              ElementsAre(ElementsAre(7, 0), ElementsAre(65536, -1)));
}

TEST(TypedFanouts, MultiplyTheExceptionsButNotAllNeighbours) {
  EXPECT_THAT(TypedFanouts(kShop, {5, 10}, {"like=3,-1"}, 2),
              ElementsAre(ElementsAre(5, 6), ElementsAre(10, -1)));
}

TEST(TypedFanouts, ErrorsNameTheProblem) {
  const auto expect_error = [](const char* text, ErrorCode code, const char* said) {
    try {
      TypedFanouts(kShop, {5, 10}, {text});
      ADD_FAILURE() << text << " is accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << text;
      EXPECT_THAT(error.what(), HasSubstr(said)) << text;
    }
  };
  expect_error("like", ErrorCode::kInvalid, "expected EDGETYPE=FANOUT");
  expect_error("sells=1,2", ErrorCode::kNotFound, "sells");
  expect_error("like=1", ErrorCode::kInvalid, "1 fanouts, there are 2 layers");
  expect_error("like=1,2,3", ErrorCode::kInvalid, "3 fanouts, there are 2 layers");
  for (const char* text : {"like=", "like=1,", "like=1,x", "like=1,2x", "like=1,-2", "like=1,65537",
                           "like=1,99999999999"}) {
    expect_error(text, ErrorCode::kInvalid, "is not a fanout");
  }
}

}  // namespace
}  // namespace examples
