// SPDX-License-Identifier: Apache-2.0
#include "base/row_access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace graphd {
namespace {

TEST(RowAccess, CopiesRowsOfEverySizeExactly) {
  constexpr size_t kMost = 1100, kGuard = 64;
  std::vector<std::byte> from(kMost + kGuard);
  for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (size_t bytes = kLeastRowCopy; bytes <= kMost; bytes++) {
    const size_t shift = bytes % 5;
    std::vector<std::byte> to(kMost + 2 * kGuard), wanted(to);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(shift), bytes, wanted.begin() + kGuard);
    CopyRow(from.data() + shift, to.data() + kGuard, bytes);
    ASSERT_EQ(to, wanted) << bytes << " bytes";
  }
}

std::vector<size_t> Prefetched(size_t bytes) {
  std::vector<size_t> offsets;
  const std::vector<std::byte> memory(std::max<size_t>(bytes, 1024));
  const std::byte* const row = memory.data();
  const auto note = [&](const std::byte* line) {
    offsets.push_back(static_cast<size_t>(line - row));
  };
  WithLines(bytes, [&](auto lines) { PrefetchLines<lines>(row, bytes, note); });
  return offsets;
}

TEST(RowAccess, PrefetchesEachLineOnce) {
  for (const size_t lines : {1, 2, 3, 4, 8, 16}) {
    const std::vector<size_t> offsets = Prefetched(lines * kLine);
    ASSERT_EQ(offsets.size(), lines);
    for (size_t i = 0; i < lines; i++) EXPECT_EQ(offsets[i], i * kLine);
  }
  EXPECT_EQ(Prefetched(0), std::vector<size_t>());
  EXPECT_EQ(Prefetched(4), (std::vector<size_t>{0, 3}));
  // Rows of other sizes may begin anywhere in a line.
  EXPECT_EQ(Prefetched(130), (std::vector<size_t>{0, 64, 128, 129}));
  EXPECT_EQ(Prefetched(5000).size(), 17U);
  EXPECT_EQ(Prefetched(5000).back(), 4999U);
}

TEST(RowAccess, PrefetchDistanceDependsOnRowBytes) {
  EXPECT_EQ(RowsAhead(0), 32U);
  EXPECT_EQ(RowsAhead(4), 32U);
  EXPECT_EQ(RowsAhead(512), 4U);
  EXPECT_EQ(RowsAhead(100'000), 2U);
}

}  // namespace
}  // namespace graphd
