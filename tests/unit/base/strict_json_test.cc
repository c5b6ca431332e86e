// SPDX-License-Identifier: Apache-2.0
#include "base/strict_json.h"

#include <gtest/gtest.h>

#include <vector>

namespace graphd {
namespace {

template <class T>
std::string ErrorOf(const char* text) {
  try {
    StrictJson::parse(text).get<T>();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(StrictJson, ConvertsWholeNumbersThatFit) {
  EXPECT_EQ(StrictJson::parse("65535").get<uint16_t>(), 65535);
  EXPECT_EQ(StrictJson::parse("-128").get<int8_t>(), -128);
  EXPECT_EQ(StrictJson::parse("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(StrictJson::parse("-9223372036854775808").get<int64_t>(), INT64_MIN);
  EXPECT_EQ(StrictJson::parse("[3, 4]").get<std::vector<int64_t>>(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(StrictJson::parse("3").get<double>(), 3);
  EXPECT_TRUE(StrictJson::parse("true").get<bool>());
}

TEST(StrictJson, RefusesOtherNumbersAsIntegers) {
  EXPECT_EQ(ErrorOf<int64_t>("1e+300"),
            "1e+300 is not a whole number in "
            "-9223372036854775808..9223372036854775807");
  EXPECT_EQ(ErrorOf<int>("0.5"), "0.5 is not a whole number in -2147483648..2147483647");
  EXPECT_EQ(ErrorOf<uint16_t>("65536"), "65536 is not a whole number in 0..65535");
  EXPECT_EQ(ErrorOf<uint64_t>("-1"), "-1 is not a whole number in 0..18446744073709551615");
  EXPECT_EQ(ErrorOf<int8_t>("true"), "true is not a whole number in -128..127");
  EXPECT_NE(ErrorOf<std::vector<int64_t>>("[1, 1e300]"), "none");
}

}  // namespace
}  // namespace graphd
