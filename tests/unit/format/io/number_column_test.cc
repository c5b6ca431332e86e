// SPDX-License-Identifier: Apache-2.0
#include "format/io/number_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace graphd {
namespace {

using ::testing::ElementsAre;

Tensor Column(const std::vector<std::string>& cells, bool mask = false) {
  NumberColumn column;
  for (const std::string& cell : cells) EXPECT_TRUE(column.Append(cell)) << cell;
  EXPECT_EQ(column.size(), cells.size());
  return std::move(column).Finish({static_cast<int64_t>(cells.size())}, mask);
}

TEST(NumberColumn, WholeNumbersAreInt64) {
  EXPECT_THAT(Column({"1", "-9223372036854775808", "+3"}).as<int64_t>(),
              ElementsAre(1, std::numeric_limits<int64_t>::min(), 3));
}

TEST(NumberColumn, NumbersOfUpToNineDigitsAreFloat32) {
  EXPECT_THAT(
      Column({"7", "0.123456789", "-1e-3", "100000.000", "inf"}).as<float>(),
      ElementsAre(7.0f, 0.123456789f, -1e-3f, 1e5f, std::numeric_limits<float>::infinity()));
}

TEST(NumberColumn, LongerOrLargerNumbersAreFloat64) {
  EXPECT_THAT(Column({"0.5", "0.1234567891"}).as<double>(), ElementsAre(0.5, 0.1234567891));
  EXPECT_THAT(Column({"1e300", "2"}).as<double>(), ElementsAre(1e300, 2.0));
  EXPECT_THAT(Column({"12345678901", "0.5"}).as<double>(), ElementsAre(12345678901.0, 0.5));
  EXPECT_THAT(Column({"0.5", "12345678901"}).as<double>(), ElementsAre(0.5, 12345678901.0));
}

TEST(NumberColumn, MissingCellsAreNan) {
  const Tensor column = Column({"1", "", "nan"});
  EXPECT_EQ(column.as<float>()[0], 1.0f);
  EXPECT_TRUE(std::isnan(column.as<float>()[1]));
  EXPECT_TRUE(std::isnan(column.as<float>()[2]));
}

TEST(NumberColumn, WordsAndMasksAreUInt8) {
  EXPECT_THAT(Column({"True", "false", "TRUE"}).as<uint8_t>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(Column({"1", "0"}, true).as<uint8_t>(), ElementsAre(1, 0));
  EXPECT_THAT(Column({"1", "2"}, true).as<int64_t>(), ElementsAre(1, 2));
  EXPECT_THAT(Column({"true", "2"}).as<int64_t>(), ElementsAre(1, 2));
}

TEST(NumberColumn, OtherTextIsRefused) {
  for (const char* cell : {"x", "1x", "1 2", "--1", "+-1", "0x10", "1e400", "truth", "."}) {
    NumberColumn column;
    EXPECT_FALSE(column.Append(cell)) << cell;
    EXPECT_EQ(column.size(), 0u) << cell;
  }
}

}  // namespace
}  // namespace graphd
