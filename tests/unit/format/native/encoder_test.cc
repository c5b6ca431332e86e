// SPDX-License-Identifier: Apache-2.0
#include "format/native/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;

Tensor Floats(const std::vector<float>& values) {
  Tensor tensor = Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

// Returns the values after they have been stored.
std::vector<float> RoundTrip(const Encoding& encoding, const std::vector<float>& values) {
  std::vector<std::byte> stored(values.size() * DTypeSize(encoding.stored));
  std::vector<float> read(values.size());
  Encode(encoding, reinterpret_cast<const std::byte*>(values.data()), values.size(), stored.data());
  Decode(encoding, stored.data(), values.size(), reinterpret_cast<std::byte*>(read.data()));
  return read;
}

std::string Refusal(const std::vector<float>& values, DType stored) {
  try {
    EncodingFor(Floats(values), stored, "feature 'x'");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.what();
  }
  return "";
}

TEST(Encoder, IntegersGetTheNarrowestDtypeThatHoldsThem) {
  const auto stored = [](int64_t least, int64_t most, DType dtype = DType::kInt64) {
    return NarrowestEncoding(dtype, least, most).stored;
  };
  EXPECT_EQ(stored(0, 255), DType::kUInt8);
  EXPECT_EQ(stored(0, 256), DType::kUInt16);
  EXPECT_EQ(stored(-1, 127), DType::kInt8);
  EXPECT_EQ(stored(-1, 128), DType::kInt16);
  EXPECT_EQ(stored(0, 65536), DType::kUInt32);
  EXPECT_EQ(stored(-32769, 0), DType::kInt32);
  EXPECT_EQ(stored(0, UINT32_MAX), DType::kUInt32);
  EXPECT_EQ(stored(0, int64_t{UINT32_MAX} + 1), DType::kInt64);
  EXPECT_EQ(stored(-1, UINT32_MAX), DType::kInt64);
  EXPECT_EQ(stored(0, 70000, DType::kInt32), DType::kInt32);
  EXPECT_EQ(stored(0, 300, DType::kInt16), DType::kInt16);
  EXPECT_EQ(stored(0, 200, DType::kInt16), DType::kUInt8);
  EXPECT_EQ(stored(0, 1, DType::kUInt16), DType::kUInt16);
  EXPECT_EQ(stored(0, 1, DType::kBool), DType::kBool);
}

TEST(Encoder, IntegersAreReadBackUnchanged) {
  Tensor values = Tensor::Empty(DType::kInt64, {4});
  const std::vector<int64_t> numbers = {-300, 0, 299, 17};
  std::copy(numbers.begin(), numbers.end(), values.as<int64_t>().begin());
  const Encoding encoding = NarrowestEncoding(values);
  EXPECT_EQ(encoding.stored, DType::kInt16);
  std::vector<std::byte> stored(4 * sizeof(int16_t));
  std::vector<int64_t> read(4);
  Encode(encoding, values.data(), 4, stored.data());
  Decode(encoding, stored.data(), 4, reinterpret_cast<std::byte*>(read.data()));
  EXPECT_EQ(read, numbers);
  EXPECT_TRUE(NarrowestEncoding(Tensor::Empty(DType::kInt64, {0})).is_plain());
}

// Every number that a 16-bit format has must be stored as itself, and any other one as the nearest.
template <class ToFloat>
void ExpectNearest(DType stored, float largest, ToFloat to_float) {
  const Encoding encoding{stored, DType::kFloat32, 1};
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const float value = to_float(static_cast<uint16_t>(bits));
    if (std::isfinite(value)) values.push_back(value);
  }
  EXPECT_EQ(RoundTrip(encoding, values), values);
  std::sort(values.begin(), values.end());
  CounterRng rng(3);
  std::vector<float> random;
  for (int i = 0; i < 200000; i++) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(rng.Next()));
    if (std::isfinite(value) && std::fabs(value) <= largest) random.push_back(value);
  }
  const std::vector<float> read = RoundTrip(encoding, random);
  for (size_t i = 0; i < random.size(); i++) {
    const auto above = std::lower_bound(values.begin(), values.end(), random[i]);
    double least = above == values.end() ? INFINITY : double{*above} - random[i];
    if (above != values.begin()) least = std::min(least, double{random[i]} - *(above - 1));
    ASSERT_EQ(std::fabs(double{read[i]} - random[i]), least) << random[i];
  }
}

TEST(Encoder, Float16IsTheNearestNumber) {
  ExpectNearest(DType::kFloat16, 65504, [](uint16_t bits) {
    float value = 0;
    Decode({DType::kFloat16, DType::kFloat32, 1}, reinterpret_cast<std::byte*>(&bits), 1,
           reinterpret_cast<std::byte*>(&value));
    return value;
  });
}

TEST(Encoder, BFloat16IsTheNearestNumber) {
  ExpectNearest(DType::kBFloat16, 3.38e38f,
                [](uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); });
}

TEST(Encoder, HalfwayNumbersAreRoundedToEven) {
  const Encoding half{DType::kFloat16, DType::kFloat32, 1};
  EXPECT_EQ(RoundTrip(half, {2049, 2051, -2049, 0x1p-25f, 0x3p-25f}),
            (std::vector<float>{2048, 2052, -2048, 0, 0x1p-23f}));
}

TEST(Encoder, InfinityAndNanStayWhatTheyAre) {
  for (const DType stored : {DType::kFloat16, DType::kBFloat16}) {
    const Encoding encoding = EncodingFor(Floats({INFINITY, -INFINITY, NAN, 1}), stored, "x");
    const auto read = RoundTrip(encoding, {INFINITY, -INFINITY, NAN});
    EXPECT_EQ(read[0], INFINITY);
    EXPECT_EQ(read[1], -INFINITY);
    EXPECT_TRUE(std::isnan(read[2]));
  }
}

TEST(Encoder, Int8HasAnErrorOfHalfAStepAtMost) {
  std::vector<float> values;
  CounterRng rng(4);
  for (int i = 0; i < 10000; i++) values.push_back(static_cast<float>(rng.Below(2001)) / 100 - 10);
  values.push_back(-12.7f);
  const Encoding encoding = EncodingFor(Floats(values), DType::kInt8, "x");
  EXPECT_FLOAT_EQ(encoding.scale, 0.1f);
  const std::vector<float> read = RoundTrip(encoding, values);
  for (size_t i = 0; i < values.size(); i++) EXPECT_NEAR(read[i], values[i], 0.050001);
  EXPECT_EQ(RoundTrip(EncodingFor(Floats({0, 0}), DType::kInt8, "x"), {0, 0}),
            (std::vector<float>{0, 0}));
  const float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(RoundTrip(EncodingFor(Floats({denormal}), DType::kInt8, "x"), {denormal})[0], 0);
}

TEST(Encoder, ValuesThatCannotBeStoredAreNamed) {
  EXPECT_THAT(Refusal({1, 70000}, DType::kFloat16),
              HasSubstr("feature 'x' has a value of 70000, beyond 65504"));
  EXPECT_THAT(Refusal({1, NAN}, DType::kInt8), HasSubstr("has a value of nan"));
  EXPECT_THAT(Refusal({1}, DType::kFloat64), HasSubstr("can't be stored as float64"));
  try {
    EncodingFor(Tensor::Empty(DType::kInt64, {1}), DType::kFloat16, "feature 'y'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("feature 'y' is int64"));
  }
}

}  // namespace
}  // namespace graphd
