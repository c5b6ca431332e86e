// SPDX-License-Identifier: Apache-2.0
#include "format/io/number_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

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

TEST(NumberColumn, LargeWholeNumbersAreNotRounded) {
  for (const char* cell : {"1234567890", "-1234567890", "1000000001", "9223372036854775807",
                           "9223372036854775000", "16777217000"}) {
    EXPECT_EQ(Column({cell, ""}).dtype(), DType::kFloat64) << cell;
    EXPECT_EQ(Column({"", cell}).dtype(), DType::kFloat64) << cell;
    EXPECT_EQ(Column({"0.5", cell}).dtype(), DType::kFloat64) << cell;
  }
  EXPECT_THAT(Column({"0.5", "1234567890"}).as<double>(), ElementsAre(0.5, 1234567890.0));
  // These are multiples of large powers of 2.
  for (const char* cell : {"2000000000", "1073741824", "-9223372036854775808"}) {
    EXPECT_EQ(Column({cell, ""}).dtype(), DType::kFloat32) << cell;
    EXPECT_EQ(Column({"", cell}).dtype(), DType::kFloat32) << cell;
  }
}

TEST(NumberColumn, MissingCellsAreNan) {
  const Tensor column = Column({"1", "", "nan"});
  EXPECT_EQ(column.as<float>()[0], 1.0f);
  EXPECT_TRUE(std::isnan(column.as<float>()[1]));
  EXPECT_TRUE(std::isnan(column.as<float>()[2]));
}

TEST(NumberColumn, TrueAndFalseAndMasksAreUInt8) {
  EXPECT_THAT(Column({"True", "false", "TRUE"}).as<uint8_t>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(Column({"1", "0"}, true).as<uint8_t>(), ElementsAre(1, 0));
  EXPECT_THAT(Column({"1", "2"}, true).as<int64_t>(), ElementsAre(1, 2));
  EXPECT_THAT(Column({"true", "2"}).as<int64_t>(), ElementsAre(1, 2));
}

// Returns the bytes of a column with its dtype.
std::string BytesOf(Tensor column) {
  std::string bytes = DTypeName(column.dtype());
  return bytes.append(reinterpret_cast<const char*>(column.data()), column.num_bytes());
}

TEST(NumberColumn, ValuesAreTheNumbersOfTheirTexts) {
  std::mt19937_64 random(7);
  constexpr std::array kScales{1e-45, 1e-7, 0.01, 1.0, 1e3, 1e9, 1e25};
  for (int round = 0; round < 2000; round++) {
    NumberColumn values, texts;
    for (int i = 0; i < 3; i++) {
      const auto whole = static_cast<int64_t>(random()) >> (random() % 64);
      // Some decimal numbers are short, others have all digits of a double.
      const double scale = kScales[random() % kScales.size()];
      const double rounded = static_cast<double>(whole % 100000) * scale;
      const double real = random() % 8 == 0 ? std::sqrt(std::fabs(rounded)) : rounded;
      std::array<char, 40> text;
      const auto append = [&](char* end) {
        EXPECT_TRUE(texts.Append({text.data(), static_cast<size_t>(end - text.data())}));
      };
      switch (random() % 5) {
        case 0:
          values.AppendInt(whole);
          append(std::to_chars(text.data(), text.data() + 40, whole).ptr);
          break;
        case 1: {
          const uint64_t natural = static_cast<uint64_t>(whole) * 2;
          values.AppendUnsigned(natural);
          append(std::to_chars(text.data(), text.data() + 40, natural).ptr);
          break;
        }
        case 2: {
          values.AppendDouble(real);
          char* end = std::to_chars(text.data(), text.data() + 38, real).ptr;
          const std::string_view written(text.data(), static_cast<size_t>(end - text.data()));
          if (written.find_first_of(".en") == written.npos) *end++ = '.';
          append(end);
          break;
        }
        case 3:
          values.AppendMissing();
          EXPECT_TRUE(texts.Append(""));
          break;
        default:
          values.AppendBool(whole % 2 != 0);
          EXPECT_TRUE(texts.Append(whole % 2 != 0 ? "true" : "false"));
      }
    }
    const auto size = static_cast<int64_t>(values.size());
    const bool mask = round % 2 == 0;
    EXPECT_EQ(BytesOf(std::move(values).Finish({size}, mask)),
              BytesOf(std::move(texts).Finish({size}, mask)));
  }
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
