// SPDX-License-Identifier: Apache-2.0
#include "store/rows/initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/rng.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

std::vector<float> Row(const Initializer& initializer, int64_t id, size_t elements) {
  std::vector<float> row(elements);
  FillRow(initializer, DType::kFloat32, id, std::as_writable_bytes(std::span(row)));
  return row;
}

TEST(Initializer, RowsDependOnSeedAndIdOnly) {
  const Initializer uniform{InitKind::kUniform, -1, 1, 7};
  EXPECT_EQ(Row(uniform, 5, 33), Row(uniform, 5, 33));
  EXPECT_NE(Row(uniform, 5, 33), Row(uniform, 6, 33));
  EXPECT_NE(Row(uniform, 5, 33), Row({InitKind::kUniform, -1, 1, 8}, 5, 33));
}

TEST(Initializer, ValuesHaveTheStatedDistribution) {
  constexpr int kRows = 2000;
  constexpr size_t kElements = 50;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
  for (int id = 0; id < kRows; id++) {
    for (const float x : Row({InitKind::kUniform, 2, 4, 1}, id, kElements)) {
      ASSERT_GE(x, 2);
      ASSERT_LT(x, 4);
      sum += x;
      squares += x * x;
    }
    for (const float x : Row({InitKind::kNormal, 1, 3, 1}, id, kElements)) {
      normal_sum += x;
      normal_squares += x * x;
    }
  }
  constexpr double kCount = kRows * kElements;
  EXPECT_NEAR(sum / kCount, 3, 0.01);
  EXPECT_NEAR(squares / kCount - 9, 1.0 / 3, 0.05);  // variance of uniform: 4 / 12
  EXPECT_NEAR(normal_sum / kCount, 1, 0.04);
  EXPECT_NEAR(normal_squares / kCount - 1, 9, 0.2);
}

// The method of Box and Muller with the functions of the C library.
std::vector<double> ReferenceRow(const Initializer& initializer, int64_t id, size_t elements) {
  CounterRng rng(CombineKeys(initializer.seed, static_cast<uint64_t>(id)));
  const auto unit = [&rng] { return static_cast<double>(rng.Next() >> 11) * 0x1p-53; };
  std::vector<double> row;
  while (row.size() < elements) {
    if (initializer.kind == InitKind::kUniform) {
      row.push_back(initializer.a + (initializer.b - initializer.a) * unit());
      continue;
    }
    const double radius = initializer.b * std::sqrt(-2 * std::log(1 - unit()));
    const double angle = 2 * std::numbers::pi * unit();
    row.push_back(initializer.a + radius * std::cos(angle));
    row.push_back(initializer.a + radius * std::sin(angle));
  }
  row.resize(elements);
  return row;
}

TEST(Initializer, RowsAreTheSameWithVectorsOfAnyWidth) {
  for (const Initializer& initializer :
       {Initializer{InitKind::kUniform, -1, 1, 7}, Initializer{InitKind::kNormal, 2, 3, 7}}) {
    for (const size_t elements : {1, 2, 3, 8, 31, 129}) {
      for (int64_t id = 0; id < 300; id++) {
        const std::vector<double> expected = ReferenceRow(initializer, id, elements);
        std::vector<double> doubles[3];
        std::vector<float> floats[3];
        for (size_t level = 0; level < 3; level++) {
          const int bits = static_cast<int>(level) * 256;
          doubles[level].resize(elements);
          floats[level].resize(elements);
          FillRow(initializer, DType::kFloat64, id,
                  std::as_writable_bytes(std::span(doubles[level])), bits);
          FillRow(initializer, DType::kFloat32, id,
                  std::as_writable_bytes(std::span(floats[level])), bits);
          ASSERT_EQ(doubles[level], doubles[0]) << bits << " bits";
          ASSERT_EQ(floats[level], floats[0]) << bits << " bits";
        }
        for (size_t i = 0; i < elements; i++) {
          ASSERT_NEAR(doubles[0][i], expected[i], 1e-13);
          ASSERT_EQ(floats[0][i], static_cast<float>(doubles[0][i]));
        }
      }
    }
  }
}

TEST(Initializer, ConstantsSuitTheirDtype) {
  std::vector<int16_t> row(3);
  FillRow({InitKind::kConstant, -7, 0, 0}, DType::kInt16, 0,
          std::as_writable_bytes(std::span(row)));
  EXPECT_EQ(row, (std::vector<int16_t>{-7, -7, -7}));
  EXPECT_NO_THROW(CheckInitializer({InitKind::kConstant, 0, 0, 0}, DType::kBFloat16));
  EXPECT_NO_THROW(CheckInitializer({InitKind::kConstant, 1, 0, 0}, DType::kBool));
  EXPECT_NO_THROW(CheckInitializer({InitKind::kConstant, 255, 0, 0}, DType::kUInt8));
  EXPECT_NO_THROW(CheckInitializer({InitKind::kUniform, 1, 1, 0}, DType::kFloat64));
  EXPECT_THROW(CheckInitializer({InitKind::kConstant, 256, 0, 0}, DType::kUInt8), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kConstant, -1, 0, 0}, DType::kUInt64), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kConstant, 0x1p63, 0, 0}, DType::kInt64), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kConstant, 2, 0, 0}, DType::kBool), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kConstant, 0.5, 0, 0}, DType::kInt32), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kUniform, 0, 1, 0}, DType::kInt64), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kUniform, 1, 0, 0}, DType::kFloat32), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kNormal, 0, -1, 0}, DType::kFloat32), Error);
  EXPECT_THROW(CheckInitializer({InitKind::kNormal, 0, NAN, 0}, DType::kFloat32), Error);
}

}  // namespace
}  // namespace graphd::store
