// SPDX-License-Identifier: Apache-2.0
#include "base/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphd/error.h"

namespace graphd {
namespace {

TEST(MemoryLimit, IsKnownForThisMachine) {
  const MemoryLimit limit = AvailableMemory();
  EXPECT_GT(limit.bytes, uint64_t{100} << 20);
  EXPECT_LT(limit.bytes, uint64_t{1} << 50);
  EXPECT_FALSE(limit.source.empty());
}

TEST(MemoryLimit, TooLittleIsAnErrorWithBothNumbersAndARemedy) {
  EXPECT_NO_THROW(CheckMemory(5, {5, "test"}, "graph"));
  try {
    CheckMemory(uint64_t{212} << 30, {uint64_t{190} << 30, "MemAvailable"}, "graph 'mag'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("212 GiB"), ::testing::HasSubstr("190 GiB"),
                                 ::testing::HasSubstr("fewer partitions")));
  }
}

}  // namespace
}  // namespace graphd
