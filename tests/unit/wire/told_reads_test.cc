// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphd/error.h"
#include "wire/status.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;

TEST(ToldReads, AMessageTellsOfABoundedNumber) {
  EXPECT_NO_THROW(CheckToldReads({}));
  EXPECT_NO_THROW(CheckToldReads(kMostToldReads));
  const std::pair<uint64_t MappedReads::*, const char*> fields[] = {
      {&MappedReads::calls, "1099511627777 calls"},
      {&MappedReads::rows, "1099511627777 rows"},
      {&MappedReads::bytes, "1125899906842625 bytes"},
      {&MappedReads::edges, "1099511627777 edges"}};
  for (const auto& [field, text] : fields) {
    MappedReads reads;
    reads.*field = kMostToldReads.*field + 1;
    try {
      CheckToldReads(reads);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
    const MappedReads limited = LimitToldReads(reads);
    EXPECT_EQ(limited.*field, kMostToldReads.*field);
    EXPECT_NO_THROW(CheckToldReads(limited));
  }
}

TEST(ToldReads, SumsDoNotBeginAgain) {
  EXPECT_EQ(SumOfReads(3, 4), 7U);
  constexpr uint64_t kMost = uint64_t{1} << 59;
  EXPECT_EQ(SumOfReads(kMost - 4, 3), kMost - 1);
  for (const uint64_t more : {uint64_t{4}, kMost, UINT64_MAX}) {
    EXPECT_EQ(SumOfReads(kMost - 4, more), kMost);
    EXPECT_EQ(SumOfReads(kMost, more), kMost);
    EXPECT_EQ(SumOfReads(more, kMost), kMost);
  }
  MappedReads sum{1, 2, 3, kMost};
  AddReads({10, 20, 30, 40}, sum);
  EXPECT_EQ(sum.calls, 11U);
  EXPECT_EQ(sum.rows, 22U);
  EXPECT_EQ(sum.bytes, 33U);
  EXPECT_EQ(sum.edges, kMost);
}

}  // namespace
}  // namespace graphd
