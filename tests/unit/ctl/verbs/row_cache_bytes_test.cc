// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/row_cache_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "client/cache/cache_memory.h"
#include "tests/support/error_of.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RowCacheBytes, AreThoseOfTheText) {
  EXPECT_EQ(RowCacheBytes(""), 0U);
  EXPECT_EQ(RowCacheBytes("0"), 0U);
  EXPECT_EQ(RowCacheBytes("1.5g"), uint64_t{3} << 29);
  EXPECT_EQ(RowCacheBytes("1 GiB"), uint64_t{1} << 30);
}

TEST(RowCacheBytes, ACacheThatTrainersWouldRefuseIsRefused) {
  EXPECT_EQ(RowCacheBytes(StrCat(CacheShape::kLeastBytes)), CacheShape::kLeastBytes);
  for (const std::string& text : {StrCat(CacheShape::kLeastBytes - 1), std::string("1")}) {
    EXPECT_THAT(ErrorOf([&] { RowCacheBytes(text); }),
                StartsWith(StrCat("invalid: --row_cache '", text, "' is too small")));
  }
}

TEST(RowCacheBytes, AnythingElseIsAnErrorThatNamesTheText) {
  for (const char* text : {"-1", "1GX", "G", "1e3", "nan", "9999999T", "1 G B"}) {
    EXPECT_THAT(ErrorOf([&] { RowCacheBytes(text); }),
                HasSubstr(StrCat("--row_cache '", text, "'")))
        << text;
  }
}

}  // namespace
}  // namespace graphd::ctl
