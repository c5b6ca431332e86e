// SPDX-License-Identifier: Apache-2.0
#include "sampling/gather.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"

namespace graphd {
namespace {

const Encoding kEncodings[] = {
    Encoding::Plain(DType::kFloat32),           Encoding::Plain(DType::kInt64),
    {DType::kUInt8, DType::kInt64, 1},          {DType::kInt16, DType::kInt64, 1},
    {DType::kUInt32, DType::kInt64, 1},         {DType::kInt8, DType::kInt32, 1},
    {DType::kUInt16, DType::kInt32, 1},         {DType::kUInt8, DType::kInt16, 1},
    {DType::kFloat16, DType::kFloat32, 1},      {DType::kBFloat16, DType::kFloat32, 1},
    {DType::kInt8, DType::kFloat32, 0.0078125f}};

TEST(GatherRows, ConvertsAsReadAllDoes) {
  constexpr int64_t kRows = 300;
  CounterRng rng(5);
  for (const Encoding& encoding : kEncodings) {
    for (const int64_t width : {0, 1, 2, 7, 16, 100}) {
      Tensor stored = Tensor::Empty(encoding.stored, {kRows, width});
      for (size_t i = 0; i < stored.num_bytes(); i++) {
        stored.data()[i] = static_cast<std::byte>(rng.Next());
      }
      const FeatureTable table(stored, encoding);
      const Tensor all = table.ReadAll();
      const size_t row_bytes = table.row_bytes();
      EXPECT_EQ(row_bytes, all.row_bytes());
      std::vector<int64_t> from, to;
      for (int64_t i = 0; i < 500; i++) from.push_back(static_cast<int64_t>(rng.Next() % kRows));
      for (int64_t i = 0; i < 500; i++) to.push_back((i * 7 + 3) % 500);
      for (const bool scattered : {false, true}) {
        std::vector<std::byte> out(500 * row_bytes + 1, std::byte{0x5a});
        GatherRows(table, from,
                   scattered ? std::span<const int64_t>(to) : std::span<const int64_t>(),
                   out.data());
        int wrong = 0;
        for (size_t i = 0; i < from.size(); i++) {
          const size_t target = scattered ? static_cast<size_t>(to[i]) : i;
          wrong +=
              row_bytes != 0 &&
              std::memcmp(out.data() + target * row_bytes,
                          all.data() + static_cast<size_t>(from[i]) * row_bytes, row_bytes) != 0;
        }
        const std::string what = std::string(DTypeName(encoding.stored)) + " read as " +
                                 DTypeName(encoding.dtype) + " x " + std::to_string(width);
        EXPECT_EQ(wrong, 0) << what;
        EXPECT_EQ(out.back(), std::byte{0x5a}) << what;
      }
    }
  }
}

TEST(ScatterRows, ConvertsAsReadAllDoes) {
  constexpr int64_t kRows = 300;
  CounterRng rng(6);
  for (const Encoding& encoding : kEncodings) {
    for (const int64_t width : {1, 2, 7, 16, 100}) {
      Tensor stored = Tensor::Empty(encoding.stored, {kRows, width});
      for (size_t i = 0; i < stored.num_bytes(); i++) {
        stored.data()[i] = static_cast<std::byte>(rng.Next());
      }
      const FeatureTable table(stored, encoding);
      const Tensor all = table.ReadAll();
      const size_t row_bytes = table.row_bytes();
      ASSERT_EQ(encoding.StoredBytes(row_bytes), stored.row_bytes());
      std::vector<int64_t> to;
      for (int64_t i = 0; i < kRows; i++) to.push_back((i * 7 + 3) % kRows);
      std::vector<std::byte> out(kRows * row_bytes + 1, std::byte{0x5a});
      ScatterRows(encoding, stored.data(), row_bytes, to, out.data());
      int wrong = 0;
      for (size_t i = 0; i < kRows; i++) {
        wrong += std::memcmp(out.data() + static_cast<size_t>(to[i]) * row_bytes,
                             all.data() + i * row_bytes, row_bytes) != 0;
      }
      const std::string what = std::string(DTypeName(encoding.stored)) + " read as " +
                               DTypeName(encoding.dtype) + " x " + std::to_string(width);
      EXPECT_EQ(wrong, 0) << what;
      EXPECT_EQ(out.back(), std::byte{0x5a}) << what;
    }
  }
}

}  // namespace
}  // namespace graphd
