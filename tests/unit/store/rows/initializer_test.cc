// SPDX-License-Identifier: Apache-2.0
#include "store/rows/initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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
