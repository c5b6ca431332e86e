// SPDX-License-Identifier: Apache-2.0
#include "graphd/partition_book.h"

#include <gtest/gtest.h>

#include <random>

namespace graphd {
namespace {

using Range = IdMap::Range;

// Returns the map of DGL's own example: types group, post, user in two partitions.
IdMap TwoPartitions() {
  return IdMap::FromRanges(
      "node", {{{0, 30}, {273, 303}}, {{30, 127}, {303, 406}}, {{127, 273}, {406, 560}}});
}

TEST(IdMap, AnswersDglsExample) {
  const IdMap map = TwoPartitions();
  EXPECT_EQ(map.ToTyped(145), std::make_pair(2, int64_t{18}));
  EXPECT_EQ(map.ToTyped(272), std::make_pair(2, int64_t{145}));
  EXPECT_EQ(map.ToTyped(273), std::make_pair(0, int64_t{30}));
  EXPECT_EQ(map.ToTyped(303), std::make_pair(1, int64_t{97}));
  EXPECT_EQ(map.ToHomo(2, 147), 407);
  EXPECT_EQ(map.LocalRow(2, 147), 1);
  EXPECT_EQ(map.LocalHomo(407), 134);
  EXPECT_EQ(map.Owner(1, 99), 1);
  EXPECT_EQ(map.ToHomo(1, 99), 305);
}

TEST(IdMap, IdsOutsideTheRangeAreErrorsWithTheValue) {
  const IdMap map = TwoPartitions();
  for (int64_t h : {int64_t{-1}, int64_t{560}}) {
    try {
      map.OwnerOfHomo(h);
      FAIL() << h;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_NE(std::string(error.what()).find(std::to_string(h)), std::string::npos);
    }
  }
  EXPECT_THROW(map.Owner(3, 0), Error);
  EXPECT_THROW(map.Owner(0, 60), Error);
  EXPECT_THROW(map.FromLocalRow(0, 0, 30), Error);
}

TEST(IdMap, EveryIdRoundTripsInRandomLayoutsWithEmptyRanges) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; trial++) {
    const size_t types = 1 + random() % 4, parts = 1 + random() % 20;
    std::vector<std::vector<Range>> ranges(types, std::vector<Range>(parts));
    int64_t next = 0;
    for (size_t p = 0; p < parts; p++) {
      for (size_t t = 0; t < types; t++) {
        const int64_t size = random() % 3 ? random() % 5 : 0;
        ranges[t][p] = {next, next + size};
        next += size;
      }
    }
    const IdMap map = IdMap::FromRanges("node", ranges);
    ASSERT_EQ(map.total(), next);
    for (size_t p = 0; p < parts; p++) {
      int64_t local = 0;
      for (size_t t = 0; t < types; t++) {
        int64_t row = 0;
        for (int64_t h = ranges[t][p].begin; h < ranges[t][p].end; h++) {
          const auto [type, x] = map.ToTyped(h);
          ASSERT_EQ(type, static_cast<int32_t>(t));
          ASSERT_EQ(map.ToHomo(type, x), h);
          ASSERT_EQ(map.Owner(type, x), static_cast<PartId>(p));
          ASSERT_EQ(map.OwnerOfHomo(h), static_cast<PartId>(p));
          ASSERT_EQ(map.LocalRow(type, x), row);
          ASSERT_EQ(map.FromLocalRow(static_cast<PartId>(p), type, row++), x);
          ASSERT_EQ(map.LocalHomo(h), local++);
        }
      }
    }
  }
}

TEST(IdMap, RangesWithGapsOrOverlapsAreRefused) {
  EXPECT_THROW(IdMap::FromRanges("node", {{{0, 3}, {4, 6}}}), Error);  // gap
  EXPECT_THROW(IdMap::FromRanges("node", {{{0, 3}, {2, 6}}}), Error);  // overlap
  EXPECT_THROW(IdMap::FromRanges("node", {{{3, 0}}}), Error);          // backwards
  EXPECT_THROW(IdMap::FromRanges("node", {{{0, 3}}, {{3, 4}, {4, 5}}}), Error);
  EXPECT_THROW(IdMap::FromRanges("node", {}), Error);
}

TEST(IdMap, RangesThatBeginBelowZeroAreRefused) {
  for (const Range& range : {Range{INT64_MIN, 188}, Range{INT64_MIN, INT64_MAX}, Range{-5, -5}}) {
    EXPECT_THROW(IdMap::FromRanges("node", {{range}}), Error) << range.begin;
  }
}

TEST(IdMap, MappedBooksRankByAscendingId) {
  const IdMap map = IdMap::FromOwners("node", {1, 0, 0, 1, 1}, 2);
  EXPECT_FALSE(map.is_range());
  EXPECT_EQ(map.IdsOf(1, 0), (std::vector<int64_t>{0, 3, 4}));
  EXPECT_EQ(map.LocalRow(0, 3), 1);
  EXPECT_EQ(map.FromLocalRow(0, 0, 1), 2);
  EXPECT_EQ(map.count_in(0), 2);
  EXPECT_THROW(IdMap::FromOwners("node", {0, 2}, 2), Error);
}

}  // namespace
}  // namespace graphd
