// SPDX-License-Identifier: Apache-2.0
#include "graphd/node_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "tests/unit/client/split_masks.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

// Makes a map in which partition p owns sizes[t][p] objects of type t.
IdMap RangeMap(const std::vector<Ids>& sizes) {
  std::vector<std::vector<IdMap::Range>> ranges(sizes.size());
  int64_t at = 0;
  for (size_t p = 0; p < sizes[0].size(); p++) {
    for (size_t t = 0; t < sizes.size(); t++) {
      ranges[t].push_back({at, at + sizes[t][p]});
      at += sizes[t][p];
    }
  }
  return IdMap::FromRanges("node", ranges);
}

IdMap MappedMap(size_t size, int32_t num_parts, CounterRng& random) {
  std::vector<int32_t> owner(size);
  for (int32_t& p : owner) p = static_cast<int32_t>(random.Below(static_cast<uint64_t>(num_parts)));
  return IdMap::FromOwners("node", owner, num_parts);
}

PartitionBook BookOf(IdMap nodes) {
  std::vector<Ids> no_edges(1, Ids(static_cast<size_t>(nodes.num_parts()), 0));
  return PartitionBook(std::move(nodes), RangeMap(no_edges));
}

// Returns the share of every trainer of a job, after checking that each chosen id occurs exactly
// once.
std::vector<Ids> SplitAmong(const PartitionBook& book, const Tensor& mask, int32_t type, int world,
                            bool force_even) {
  std::vector<Ids> pieces;
  Ids all;
  for (int rank = 0; rank < world; rank++) {
    pieces.push_back(
        NodeSplit(book, mask, type, {.rank = rank, .world_size = world, .force_even = force_even}));
    EXPECT_TRUE(std::is_sorted(pieces.back().begin(), pieces.back().end()));
    all.insert(all.end(), pieces.back().begin(), pieces.back().end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, SetIn(mask));
  return pieces;
}

// A random book of up to 6 partitions, some of them empty, and a random mask, sometimes all 0 or
// all 1.
struct RandomCase {
  explicit RandomCase(uint64_t seed) : random(seed) {
    const auto parts = static_cast<PartId>(1 + random.Below(6));
    Ids sizes(static_cast<size_t>(parts));
    size_t total = 0;
    for (int64_t& size : sizes) {
      size = random.Below(4) ? static_cast<int64_t>(random.Below(40)) : 0;
      total += static_cast<size_t>(size);
    }
    sizes[0] += total == 0;
    total = std::max(total, size_t{1});
    const bool mapped = seed % 3 == 0;
    book = BookOf(mapped ? MappedMap(total, parts, random) : RangeMap({sizes}));
    const uint64_t density = random.Below(11);
    mask = Mask(
        total, [&](size_t) { return random.Below(10) < density; },
        seed % 2 ? DType::kBool : DType::kUInt8);
    world = 1 + static_cast<int>(random.Below(10));
  }
  CounterRng random;
  PartitionBook book;
  Tensor mask;
  int world = 1;
};

TEST(NodeSplit, GivesEveryChosenNodeToExactlyOneTrainerEvenly) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    const RandomCase some(seed);
    const auto pieces = SplitAmong(some.book, some.mask, 0, some.world, true);
    EXPECT_LE(Spread(pieces), 1u) << seed;
    // In order of partitions, the last partition of a trainer is not after the first one of the
    // next.
    PartId before = 0;
    for (const Ids& piece : pieces) {
      PartId first = some.book.num_partitions(), last = before;
      for (int64_t id : piece) {
        first = std::min(first, some.book.nodes().Owner(0, id));
        last = std::max(last, some.book.nodes().Owner(0, id));
      }
      EXPECT_GE(first, before) << seed;
      before = last;
    }
  }
}

TEST(NodeSplit, WithoutForceEvenTrainersStayInTheirPartitionsAndDivideThemEvenly) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    const RandomCase some(seed);
    const int32_t parts = some.book.num_partitions();
    const auto pieces = SplitAmong(some.book, some.mask, 0, some.world, false);
    std::vector<std::vector<Ids>> of_part(static_cast<size_t>(parts));
    for (int rank = 0; rank < some.world; rank++) {
      const Ids& piece = pieces[static_cast<size_t>(rank)];
      if (some.world >= parts)
        of_part[static_cast<size_t>(rank * parts / some.world)].push_back(piece);
      for (int64_t id : piece) {
        const int32_t owner = some.book.nodes().Owner(0, id);
        EXPECT_EQ(some.world >= parts ? rank * parts / some.world : rank,
                  some.world >= parts ? owner : owner * some.world / parts)
            << seed;
      }
    }
    for (const auto& of_one : of_part) {
      EXPECT_LE(of_one.empty() ? 0 : Spread(of_one), 1u) << seed;
    }
  }
}

TEST(NodeSplit, RemoteTrainersTakeTheirPartOfEveryPartition) {
  const PartitionBook book = BookOf(RangeMap({{6, 3, 6}}));
  const Tensor mask = Mask(15, [](size_t) { return true; });
  const auto share = [&](int rank, bool force_even) {
    return NodeSplit(
        book, mask, 0,
        {.rank = rank, .world_size = 5, .force_even = force_even, .remote_trainers = 2});
  };
  // Three of five trainers have a partition each.
  EXPECT_EQ(share(0, true), (Ids{0, 1, 2}));
  EXPECT_EQ(share(1, true), (Ids{3, 6, 7}));
  EXPECT_EQ(share(2, true), (Ids{9, 10, 11}));
  EXPECT_EQ(share(3, true), (Ids{4, 5, 8}));
  EXPECT_EQ(share(4, true), (Ids{12, 13, 14}));
  EXPECT_EQ(share(0, false), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(share(1, false), (Ids{6, 7, 8}));
  EXPECT_EQ(share(2, false), (Ids{9, 10, 11, 12}));
  EXPECT_EQ(share(3, false), (Ids{4, 5}));
  EXPECT_EQ(share(4, false), (Ids{13, 14}));
  EXPECT_THROW(NodeSplit(book, mask, 0, {.rank = 0, .world_size = 5, .remote_trainers = 6}), Error);
}

TEST(NodeSplit, WithOneTrainerPerPartitionCutsWhereDglCuts) {
  // Divides 7 chosen nodes among 3 trainers: the first one gets one more.
  const PartitionBook book = BookOf(RangeMap({{4, 4, 4}}));
  const Tensor mask = Mask(12, [](size_t i) { return i != 1 && i < 8; });
  const auto pieces = SplitAmong(book, mask, 0, 3, true);
  EXPECT_EQ(pieces, (std::vector<Ids>{{0, 2, 3}, {4, 5}, {6, 7}}));
}

TEST(NodeSplit, WorksWithFewerNodesThanPartitionsAndWithNone) {
  const PartitionBook book = BookOf(RangeMap({{5, 5, 5, 5}}));
  for (bool force_even : {true, false}) {
    SplitAmong(book, Mask(20, [](size_t i) { return i == 17; }), 0, 4, force_even);
    for (const Ids& piece :
         SplitAmong(book, Mask(20, [](size_t) { return false; }), 0, 6, force_even)) {
      EXPECT_TRUE(piece.empty());
    }
  }
}

TEST(NodeSplit, SplitsEachTypeAndTheHomogeneousIds) {
  const PartitionBook book = BookOf(RangeMap({{3, 0, 5}, {2, 6, 1}}));
  for (int world : {1, 2, 3, 5}) {
    for (bool force_even : {true, false}) {
      SplitAmong(book, Mask(8, [](size_t i) { return i % 2 == 0; }), 0, world, force_even);
      SplitAmong(book, Mask(9, [](size_t i) { return i % 3 != 0; }), 1, world, force_even);
      SplitAmong(book, Mask(17, [](size_t i) { return i % 5 != 1; }), kHomogeneous, world,
                 force_even);
    }
  }
  // Partition 1 owns the homogeneous ids 5..10.
  const auto pieces =
      SplitAmong(book, Mask(17, [](size_t) { return true; }), kHomogeneous, 3, false);
  EXPECT_EQ(pieces[1], (Ids{5, 6, 7, 8, 9, 10}));
}

TEST(NodeSplit, CutsMasksOfManyBlocks) {
  const PartitionBook book = BookOf(RangeMap({{9'000'001, 10, 5'000'000}}));
  const Tensor mask = Mask(14'000'011, [](size_t i) { return i % 5 == 0; });
  EXPECT_LE(Spread(SplitAmong(book, mask, 0, 4, true)), 1u);
  SplitAmong(book, mask, 0, 6, false);
}

TEST(NodeSplit, RejectsInvalidArguments) {
  const PartitionBook book = BookOf(RangeMap({{3, 4}}));
  const Tensor mask = Mask(7, [](size_t) { return true; });
  const auto refused = [&](const Tensor& some, int32_t type, const SplitOptions& options) {
    try {
      NodeSplit(book, some, type, options);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(mask, 0, {}), HasSubstr("rank -1 of -1"));
  EXPECT_THAT(refused(mask, 0, {.rank = 3, .world_size = 3}), HasSubstr("expected 0..2"));
  EXPECT_THAT(refused(mask, 0, {.rank = 0, .world_size = 0}), HasSubstr("of 0 trainers"));
  EXPECT_THAT(refused(mask, 1, {.rank = 0, .world_size = 1}), HasSubstr("type 1"));
  EXPECT_THAT(refused(mask, -2, {.rank = 0, .world_size = 1}), HasSubstr("type -2"));
  EXPECT_THAT(refused(mask, 0, {.rank = 0, .world_size = 1, .trainer_ids = "trainer_id"}),
              HasSubstr("trainer_id"));
  const SplitOptions first{.rank = 0, .world_size = 1};
  EXPECT_THAT(refused(Mask(6, [](size_t) { return true; }), 0, first), HasSubstr("has 6 rows"));
  EXPECT_THAT(refused(Tensor::Empty(DType::kInt64, {7}), 0, first), HasSubstr("holds int64"));
  EXPECT_THAT(refused(Tensor::Empty(DType::kUInt8, {7, 1}), 0, first), HasSubstr("2 dimensions"));
}

}  // namespace
}  // namespace graphd::testing
