// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/split_share.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "base/strings.h"

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

TEST(SplitShare, RemoteTrainersShareTheEndsOfAllPartitions) {
  // Each trainer gets 8 of 24 objects: the two with partitions get 2/3 of their own.
  const std::vector<int64_t> sizes{12, 12};
  const auto text = [&](int rank) {
    std::string all;
    for (const PartShare& share : EvenShare(sizes, rank, 3, 1)) {
      all += StrCat(static_cast<int32_t>(share.part), ":", share.begin, "-", share.end, " ");
    }
    return all;
  };
  EXPECT_EQ(text(0), "0:0-8 ");
  EXPECT_EQ(text(1), "1:0-8 ");
  EXPECT_EQ(text(2), "0:8-12 1:8-12 ");
}

// Checks that shares cover every object once.
void ExpectCovered(const std::vector<int64_t>& sizes,
                   const std::vector<std::vector<PartShare>>& shares) {
  std::vector<std::vector<int>> times;
  for (const int64_t size : sizes) times.emplace_back(static_cast<size_t>(size), 0);
  for (const auto& of_trainer : shares) {
    for (const PartShare& share : of_trainer) {
      for (int64_t i = share.begin; i < share.end; i++) {
        times.at(static_cast<size_t>(share.part)).at(static_cast<size_t>(i))++;
      }
    }
  }
  for (const auto& of_part : times) {
    EXPECT_EQ(std::count(of_part.begin(), of_part.end(), 1), static_cast<int64_t>(of_part.size()));
  }
}

int64_t SizeOf(const std::vector<PartShare>& shares) {
  int64_t size = 0;
  for (const PartShare& share : shares) size += share.end - share.begin;
  return size;
}

TEST(SplitShare, WithRemoteTrainersEveryObjectIsAssignedOnceAndEvenly) {
  CounterRng random(4);
  for (int round = 0; round < 500; round++) {
    std::vector<int64_t> sizes(1 + random.Below(6));
    for (int64_t& size : sizes) size = random.Below(3) ? static_cast<int64_t>(random.Below(40)) : 0;
    const int world = 1 + static_cast<int>(random.Below(9));
    const int remote = static_cast<int>(random.Below(static_cast<uint64_t>(world) + 1));
    std::vector<std::vector<PartShare>> even, own;
    std::vector<int64_t> even_sizes, remote_sizes;
    for (int rank = 0; rank < world; rank++) {
      even.push_back(EvenShare(sizes, rank, world, remote));
      even_sizes.push_back(SizeOf(even.back()));
      std::vector<PartShare>& mine = own.emplace_back();
      if (rank >= world - remote) {
        mine = RemoteShare(sizes, rank, world, remote);
        remote_sizes.push_back(SizeOf(mine));
        continue;
      }
      for (const PartPiece& piece :
           OwnPartitions(static_cast<int32_t>(sizes.size()), rank, world - remote)) {
        const int64_t size = OwnersShare(sizes[static_cast<size_t>(piece.part)], world, remote);
        mine.push_back({piece.part, PieceBegin(size, piece.index, piece.count),
                        PieceBegin(size, piece.index + 1, piece.count)});
      }
    }
    ExpectCovered(sizes, even);
    ExpectCovered(sizes, own);
    const auto spread = [](const std::vector<int64_t>& all) {
      const auto [least, most] = std::minmax_element(all.begin(), all.end());
      return all.empty() ? 0 : *most - *least;
    };
    EXPECT_LE(spread(even_sizes), 1) << round;
    EXPECT_LE(spread(remote_sizes), 1) << round;
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
