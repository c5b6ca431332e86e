// SPDX-License-Identifier: Apache-2.0
#include "graph/encoding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/feature_table.h"

namespace graphd {
namespace {

template <class To, class From>
std::vector<To> DecodeAll(const Encoding& encoding, const std::vector<From>& stored) {
  std::vector<To> read(stored.size());
  Decode(encoding, reinterpret_cast<const std::byte*>(stored.data()), stored.size(),
         reinterpret_cast<std::byte*>(read.data()));
  return read;
}

// Returns the value of a half by its definition in IEEE 754.
double ValueOfHalf(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::vector<uint16_t> AllHalves() {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<uint16_t>(i);
  return all;
}

TEST(Encoding, EveryFloat16IsReadAsItsValue) {
  const auto read = DecodeAll<float>({DType::kFloat16, DType::kFloat32, 1}, AllHalves());
  for (size_t i = 0; i < read.size(); i++) {
    const double wanted = ValueOfHalf(static_cast<uint16_t>(i));
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(read[i])) << i;
      // Bit 22 marks a quiet NaN.
      EXPECT_TRUE(std::bit_cast<uint32_t>(read[i]) & 0x00400000) << i;
    } else {
      EXPECT_EQ(read[i], wanted) << i;
    }
    EXPECT_EQ(std::signbit(read[i]), i >= 0x8000) << i;
  }
}

TEST(Encoding, EveryBFloat16IsTheUpperHalfOfAFloat) {
  const auto read = DecodeAll<float>({DType::kBFloat16, DType::kFloat32, 1}, AllHalves());
  for (size_t i = 0; i < read.size(); i++) {
    EXPECT_EQ(std::bit_cast<uint32_t>(read[i]), i << 16);
  }
}

TEST(Encoding, Int8IsMultipliedByTheScale) {
  const std::vector<int8_t> stored = {-127, -1, 0, 1, 5, 127};
  EXPECT_EQ(DecodeAll<float>({DType::kInt8, DType::kFloat32, 0.5f}, stored),
            (std::vector<float>{-63.5, -0.5, 0, 0.5, 2.5, 63.5}));
}

// Expects the extreme values of From to be the same as To, in arrays of lengths around the width of
// a vector.
template <class From, class To>
void ExpectSameValues() {
  const Encoding encoding{DTypeOf<From>(), DTypeOf<To>(), 1};
  CheckEncoding(encoding);
  std::vector<From> stored;
  std::vector<To> wanted;
  for (int i = 0; i < 70; i++) {
    EXPECT_EQ((DecodeAll<To>(encoding, stored)), wanted);
    const From value = i % 3 == 0   ? std::numeric_limits<From>::max()
                       : i % 3 == 1 ? std::numeric_limits<From>::min()
                                    : static_cast<From>(i);
    stored.push_back(value);
    wanted.push_back(static_cast<To>(value));
  }
}

TEST(Encoding, IntegersKeepTheirValues) {
  ExpectSameValues<uint8_t, int16_t>();
  ExpectSameValues<int8_t, int16_t>();
  ExpectSameValues<uint8_t, int32_t>();
  ExpectSameValues<int8_t, int32_t>();
  ExpectSameValues<uint16_t, int32_t>();
  ExpectSameValues<int16_t, int32_t>();
  ExpectSameValues<uint8_t, int64_t>();
  ExpectSameValues<int8_t, int64_t>();
  ExpectSameValues<uint16_t, int64_t>();
  ExpectSameValues<int16_t, int64_t>();
  ExpectSameValues<uint32_t, int64_t>();
  ExpectSameValues<int32_t, int64_t>();
}

TEST(Encoding, OtherPairsAndScalesAreRefused) {
  const auto accepts = [](DType stored, DType dtype, float scale = 1) {
    try {
      CheckEncoding({stored, dtype, scale});
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return false;
    }
  };
  int pairs = 0;
  for (uint8_t stored = 0; stored <= static_cast<uint8_t>(DType::kUInt64); stored++) {
    for (uint8_t dtype = 0; dtype <= static_cast<uint8_t>(DType::kUInt64); dtype++) {
      pairs += stored != dtype && accepts(static_cast<DType>(stored), static_cast<DType>(dtype));
    }
  }
  // Twelve pairs of integers as above, and the three that are read as float32.
  EXPECT_EQ(pairs, 12 + 3);
  EXPECT_FALSE(accepts(DType::kInt64, DType::kInt32));
  EXPECT_FALSE(accepts(DType::kUInt32, DType::kInt32));
  EXPECT_FALSE(accepts(DType::kFloat16, DType::kFloat32, 2));
  EXPECT_FALSE(accepts(DType::kFloat32, DType::kFloat32, 2));
  EXPECT_TRUE(accepts(DType::kInt8, DType::kFloat32, 2));
  for (const float bad : {0.f, -1.f, NAN, INFINITY}) {
    EXPECT_FALSE(accepts(DType::kInt8, DType::kFloat32, bad)) << bad;
  }
}

TEST(FeatureTable, ReadsRowsInTheDtypeOfReaders) {
  Tensor stored = Tensor::Empty(DType::kUInt16, {4, 3});
  for (size_t i = 0; i < 12; i++) stored.as<uint16_t>()[i] = static_cast<uint16_t>(60000 + i);
  const FeatureTable table(stored, {DType::kUInt16, DType::kInt32, 1});
  EXPECT_EQ(table.row_elements(), 3u);
  EXPECT_EQ(table.row_bytes(), 12u);
  std::vector<int32_t> rows(6);
  table.Read(1, 2, reinterpret_cast<std::byte*>(rows.data()));
  EXPECT_EQ(rows, (std::vector<int32_t>{60003, 60004, 60005, 60006, 60007, 60008}));
  const Tensor all = table.ReadAll();
  EXPECT_EQ(all.shape(), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(all.as<int32_t>()[11], 60011);
  // A plain table is not copied.
  EXPECT_EQ(FeatureTable(stored, Encoding::Plain(DType::kUInt16)).ReadAll().data(), stored.data());
  EXPECT_THROW(FeatureTable(stored, Encoding::Plain(DType::kInt16)), Error);
  EXPECT_THROW(FeatureTable(stored, {DType::kUInt16, DType::kUInt32, 1}), Error);
}

}  // namespace
}  // namespace graphd
