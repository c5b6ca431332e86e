// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/split_share.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace graphd::testing {
namespace {

TEST(SplitShare, PiecesCoverEverythingAndDifferByAtMostOne) {
  for (int64_t size : {0, 1, 2, 7, 100, 101}) {
    for (int64_t count : {1, 2, 3, 7, 50, 1000}) {
      EXPECT_EQ(PieceBegin(size, 0, count), 0);
      EXPECT_EQ(PieceBegin(size, count, count), size);
      for (int64_t i = 0; i < count; i++) {
        const int64_t length = PieceBegin(size, i + 1, count) - PieceBegin(size, i, count);
        EXPECT_GE(length, size / count);
        EXPECT_LE(length, (size + count - 1) / count);
      }
    }
  }
  const int64_t large = int64_t{1} << 62;  // intermediate results must not overflow
  EXPECT_EQ(PieceBegin(large, 1 << 20, 1 << 20), large);
}

TEST(SplitShare, EvenSharesAreConsecutive) {
  CounterRng random(3);
  for (int round = 0; round < 300; round++) {
    std::vector<int64_t> sizes(1 + random.Below(6));
    for (int64_t& size : sizes) size = random.Below(3) ? static_cast<int64_t>(random.Below(9)) : 0;
    const int world = 1 + static_cast<int>(random.Below(9));
    size_t part = 0;
    int64_t at = 0;
    for (int rank = 0; rank < world; rank++) {
      for (const PartShare& share : EvenShare(sizes, rank, world)) {
        while (at == sizes[part]) {
          part++;
          at = 0;
        }
        EXPECT_EQ(share.part, static_cast<PartId>(part));
        EXPECT_EQ(share.begin, at);
        EXPECT_LT(share.begin, share.end);
        at = share.end;
      }
    }
    while (part < sizes.size() && at == sizes[part]) {
      part++;
      at = 0;
    }
    EXPECT_EQ(part, sizes.size());
  }
}

TEST(SplitShare, EveryPartitionIsAssignedCompletely) {
  for (int32_t parts = 1; parts <= 12; parts++) {
    for (int world = 1; world <= 30; world++) {
      std::vector<std::vector<int64_t>> pieces(static_cast<size_t>(parts));
      std::vector<int64_t> counts(static_cast<size_t>(parts));
      for (int rank = 0; rank < world; rank++) {
        const auto own = OwnPartitions(parts, rank, world);
        EXPECT_FALSE(own.empty());
        EXPECT_TRUE(world < parts || own.size() == 1);
        for (const PartPiece& piece : own) {
          if (world % parts == 0) {  // the numbering of graphctl launch
            EXPECT_EQ(piece.part, rank / (world / parts));
            EXPECT_EQ(piece.index, rank % (world / parts));
          }
          pieces[static_cast<size_t>(piece.part)].push_back(piece.index);
          counts[static_cast<size_t>(piece.part)] = piece.count;
        }
      }
      for (size_t p = 0; p < pieces.size(); p++) {
        ASSERT_EQ(static_cast<int64_t>(pieces[p].size()), counts[p]) << parts << " " << world;
        for (size_t i = 0; i < pieces[p].size(); i++) {
          EXPECT_EQ(pieces[p][i], static_cast<int64_t>(i));
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphd::testing
