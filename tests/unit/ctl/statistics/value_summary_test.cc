// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/value_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace graphd::ctl {
namespace {

template <class T>
ValueSummary SummaryOf(const Encoding& encoding, const std::vector<T>& values) {
  return Summarize(encoding, std::as_bytes(std::span(values)));
}

template <class T>
ValueSummary SummaryOf(const std::vector<T>& values) {
  return SummaryOf(Encoding::Plain(DTypeOf<T>()), values);
}

TEST(ValueSummary, CountsWhatIsNotFiniteApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const ValueSummary summary =
      SummaryOf(std::vector<float>{nan, 0, -2, infinity, 5, nan, -0.0F, 1});
  EXPECT_EQ(summary.count, 8u);
  EXPECT_EQ(summary.nan, 2u);
  EXPECT_EQ(summary.infinite, 1u);
  EXPECT_EQ(summary.zeros, 2u);
  EXPECT_EQ(summary.min, Number(-2.0));
  EXPECT_EQ(summary.max, Number(5.0));
  EXPECT_DOUBLE_EQ(summary.mean, 0.8);
  EXPECT_DOUBLE_EQ(summary.Deviation(),
                   std::sqrt((4 * 0.64 - 3 * 0.64 + 7.84 + 17.64 + 0.04 + 0.64) / 5));
}

TEST(ValueSummary, NothingFiniteHasNeitherMinimumNorMaximum) {
  ValueSummary summary = SummaryOf(std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
  EXPECT_FALSE(summary.min || summary.max);
  EXPECT_EQ(summary.Deviation(), 0);
  EXPECT_FALSE(SummaryOf(std::vector<int64_t>{}).min);
  summary.Add(SummaryOf(std::vector<double>{4, 6}));
  EXPECT_EQ(summary.count, 3u);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_EQ(summary.min, Number(4.0));
}

TEST(ValueSummary, WholeNumbersLoseNoDigit) {
  const int64_t large = INT64_MAX - 1, small = INT64_MIN + 1;
  const ValueSummary summary = SummaryOf(std::vector<int64_t>{large, small, large});
  EXPECT_EQ(summary.min, Number(small));
  EXPECT_EQ(summary.max, Number(large));
  EXPECT_EQ(SummaryOf(std::vector<uint64_t>{UINT64_MAX, 3}).max, Number(uint64_t{UINT64_MAX}));
}

TEST(ValueSummary, DeviationsOfLargeNumbersKeepTheirDigits) {
  std::vector<int64_t> times;
  for (int64_t i = 0; i < 1000; i++) times.push_back(1'700'000'000'000 + i % 2);
  EXPECT_NEAR(SummaryOf(times).Deviation(), 0.5, 1e-9);
}

TEST(ValueSummary, SumsOfPiecesAreThoseOfTheWhole) {
  std::vector<double> values;
  for (int i = 0; i < 1000; i++) values.push_back(std::sin(i) * i);
  const ValueSummary whole = SummaryOf(values);
  ValueSummary sum;
  for (size_t begin : {0, 10, 700}) {
    const size_t end = begin == 0 ? 10 : begin == 10 ? 700 : 1000;
    sum.Add(SummaryOf(std::vector<double>(values.begin() + static_cast<long>(begin),
                                          values.begin() + static_cast<long>(end))));
  }
  EXPECT_EQ(sum.count, whole.count);
  EXPECT_EQ(sum.min.value(), whole.min.value());
  EXPECT_EQ(sum.max.value(), whole.max.value());
  EXPECT_NEAR(sum.mean, whole.mean, 1e-9);
  EXPECT_NEAR(sum.Deviation(), whole.Deviation(), 1e-9);
}

TEST(ValueSummary, TheLargestNumbersHaveAMeanAndADeviation) {
  const double most = std::numeric_limits<double>::max();
  for (const double size : {1e200, most}) {
    const ValueSummary ends = SummaryOf(std::vector<double>{size, -size, size, -size});
    EXPECT_NEAR(ends.mean / size, 0, 1e-15);
    EXPECT_DOUBLE_EQ(ends.Deviation(), size);
    ValueSummary sum = SummaryOf(std::vector<double>{size, size});
    EXPECT_DOUBLE_EQ(sum.mean, size);
    EXPECT_EQ(sum.Deviation(), 0);
    sum.Add(SummaryOf(std::vector<double>{-size, -size}));
    EXPECT_NEAR(sum.mean / size, 0, 1e-15);
    EXPECT_DOUBLE_EQ(sum.Deviation(), size);
  }
}

TEST(ValueSummary, EncodedElementsAreThoseThatReadersGet) {
  const Encoding scaled{DType::kInt8, DType::kFloat32, 0.5F};
  EXPECT_EQ(SummaryOf(scaled, std::vector<int8_t>{-3, 7}).min, Number(-1.5));
  const Encoding narrow{DType::kUInt8, DType::kInt64, 1};
  EXPECT_EQ(SummaryOf(narrow, std::vector<uint8_t>{3, 200}).max, Number(int64_t{200}));
  const Encoding half{DType::kFloat16, DType::kFloat32, 1};
  EXPECT_EQ(SummaryOf(half, std::vector<uint16_t>{0x3c00, 0xc000}).min, Number(-2.0));
  EXPECT_EQ(SummaryOf(Encoding::Plain(DType::kFloat16), std::vector<uint16_t>{0x7e00}).nan, 1u);
  EXPECT_EQ(SummaryOf(Encoding::Plain(DType::kBFloat16), std::vector<uint16_t>{0x4040}).max.value(),
            Number(3.0));
  // A damaged file may have other bytes than 0 and 1.
  EXPECT_EQ(SummaryOf(Encoding::Plain(DType::kBool), std::vector<uint8_t>{0, 1, 7}).max.value(),
            Number(int64_t{1}));
}

}  // namespace
}  // namespace graphd::ctl
