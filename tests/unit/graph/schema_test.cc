// SPDX-License-Identifier: Apache-2.0
#include "graphd/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace graphd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Schema Library() {
  return Schema(
      {"author", "paper"},
      {{"author", "likes", "paper"}, {"author", "likes", "author"}, {"paper", "cites", "paper"}});
}

Error ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "no error");
}

TEST(Schema, TypesAreFoundByNameAndByCanonicalName) {
  const Schema schema = Library();
  EXPECT_EQ(schema.NodeTypeIdOf("paper"), 1);
  EXPECT_EQ(schema.EdgeTypeIdOf("cites"), 2);
  EXPECT_EQ(schema.EdgeTypeIdOf("author:likes:author"), 1);
  EXPECT_EQ(schema.etype(1).ToString(), "author:likes:author");
  EXPECT_EQ(schema.src_type(0), 0);
  EXPECT_EQ(schema.dst_type(0), 1);
  EXPECT_TRUE(Schema::Homogeneous().is_homogeneous());
  EXPECT_FALSE(schema.is_homogeneous());
}

TEST(Schema, ErrorsOfUnknownNamesListTheExistingOnes) {
  const Schema schema = Library();
  const Error node = ErrorOf([&] { schema.NodeTypeIdOf("venue"); });
  EXPECT_EQ(node.code(), ErrorCode::kNotFound);
  EXPECT_THAT(node.what(), AllOf(HasSubstr("venue"), HasSubstr("author"), HasSubstr("paper")));
  const Error edge = ErrorOf([&] { schema.EdgeTypeIdOf("paper:likes:author"); });
  EXPECT_EQ(edge.code(), ErrorCode::kNotFound);
  EXPECT_THAT(edge.what(), AllOf(HasSubstr("paper:likes:author"), HasSubstr("paper:cites:paper")));
}

TEST(Schema, RelationsThatSeveralTypesShareAreAmbiguous) {
  const Error error = ErrorOf([] { Library().EdgeTypeIdOf("likes"); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalid);
  EXPECT_THAT(error.what(), HasSubstr("likes"));
}

TEST(Schema, RepeatedTypesAndUnknownEndsAreRefused) {
  EXPECT_EQ(ErrorOf([] { Schema({"a", "a"}, {}); }).code(), ErrorCode::kInvalid);
  EXPECT_EQ(ErrorOf([] { Schema({"a"}, {{"a", "r", "b"}}); }).code(), ErrorCode::kInvalid);
  EXPECT_EQ(ErrorOf([] {
              Schema({"a"}, {{"a", "r", "a"}, {"a", "r", "a"}});
            }).code(),
            ErrorCode::kInvalid);
  EXPECT_EQ(ErrorOf([] { Schema({}, {}); }).code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace graphd
