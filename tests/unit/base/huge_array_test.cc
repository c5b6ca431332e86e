// SPDX-License-Identifier: Apache-2.0
#include "base/huge_array.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "graphd/error.h"

namespace graphd {
namespace {

TEST(HugeArray, StartsAsZerosAndMovesWithoutCopying) {
  HugeArray<uint64_t> array(1000000, "a test");
  EXPECT_EQ(array[0], 0u);
  EXPECT_EQ(array[999999], 0u);
  array[999999] = 7;
  const uint64_t* data = array.data();
  HugeArray<uint64_t> other;
  EXPECT_TRUE(other.empty());
  other = std::move(array);
  EXPECT_EQ(other.data(), data);
  EXPECT_EQ(other.span().back(), 7u);
}

TEST(HugeArray, TakesNoMemoryIfEmptyAndItsErrorNamesTheArray) {
  EXPECT_EQ((HugeArray<int>(0, "nothing").data()), nullptr);
  try {
    HugeArray<char>(size_t{1} << 62, "the impossible");
    FAIL() << "4 EiB were mapped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_NE(std::string(error.what()).find("the impossible"), std::string::npos);
  }
}

}  // namespace
}  // namespace graphd
