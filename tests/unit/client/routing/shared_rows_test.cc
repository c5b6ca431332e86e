// SPDX-License-Identifier: Apache-2.0
// Calls of one process that want the same rows, in every order of their steps.
#include "client/routing/shared_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

#include "client/cache/cache_memory.h"

namespace graphd::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
constexpr int64_t kRowsInAll = 5000;

PartitionBook Book() {
  return PartitionBook(IdMap::FromRanges("node", {{{0, kRowsInAll}}}),
                       IdMap::FromRanges("edge", {{{0, 1}}}));
}

// arg: bytes of the cache
class SharedRowsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  SharedRowsTest()
      : rows_(GetParam(), Key(), Book(), {true}, {{{"x", DType::kInt64, {1}}}}, {{}}) {}
  static uint64_t Key() {
    static uint64_t tests = 0;
    return ++tests;  // another cache for each test
  }
  static bool has_cache() { return GetParam() != 0; }

  // A call that reads rows, whose values are ten times their ids.
  struct Call {
    Call(SharedRows& rows, std::vector<int64_t> wanted)
        : shared(rows), ids(std::move(wanted)), out(ids.size(), -1), positions(ids.size()) {
      std::iota(positions.begin(), positions.end(), 0);
      const auto counts = shared.Read(0, 0, ids, positions, bytes(), missing);
      counted = counts.found + counts.not_found;
      if (missing.are_all) {
        requested = ids;
      } else {
        requested = missing.ids;
      }
    }
    std::byte* bytes() { return reinterpret_cast<std::byte*>(out.data()); }
    // The rows that the call has requested arrive.
    void Arrive() {
      const auto& to = missing.are_all ? positions : missing.positions;
      for (size_t i = 0; i < requested.size(); i++)
        out[static_cast<size_t>(to[i])] = requested[i] * 10;
      shared.Store(missing, bytes());
    }
    // Waits for the others' rows. Returns the ids of those that the call has to request itself.
    std::vector<int64_t> Await(std::chrono::milliseconds time = std::chrono::minutes(1)) {
      const auto counts = shared.ReadAwaited(missing, steady_clock::now() + time);
      counted += counts.found + counts.not_found;
      requested = missing.ids;
      std::vector<int64_t> again = missing.ids;
      Arrive();
      missing.CopyAgain(sizeof(int64_t), bytes());
      missing.Clear();
      return again;
    }
    void ExpectRows() const {
      for (size_t i = 0; i < ids.size(); i++) EXPECT_EQ(out[i], ids[i] * 10) << "row " << i;
    }

    SharedRows& shared;
    std::vector<int64_t> ids, out, positions, requested;
    MissingRows missing;
    size_t counted = 0;
  };

  SharedRows rows_;
};

TEST_P(SharedRowsTest, ALoneCallRequestsAll) {
  Call call(rows_, {5, 7, 5});
  EXPECT_EQ(call.missing.are_all, !has_cache());
  call.Arrive();
  EXPECT_THAT(call.Await(), IsEmpty());
  call.ExpectRows();
  EXPECT_TRUE(rows_.Find({false, 0, "x"}).has_value());
  EXPECT_FALSE(rows_.Find({false, 0, "y"}).has_value());
}

TEST_P(SharedRowsTest, LaterCallsRequestWhatEarlierOnesHaveNot) {
  Call a(rows_, {7});
  Call b(rows_, {5, 5, 7, 8, 7});
  Call c(rows_, {8, 7, 9, 5});
  EXPECT_THAT(a.requested, ElementsAre(7));
  EXPECT_THAT(b.requested, ElementsAre(5, 8));
  EXPECT_THAT(c.requested, ElementsAre(9));
  // They end in the other order, so that c asks b before b has the row of a.
  c.Arrive();
  b.Arrive();
  a.Arrive();
  EXPECT_THAT(c.Await(), IsEmpty());
  EXPECT_THAT(b.Await(), IsEmpty());
  EXPECT_THAT(a.Await(), IsEmpty());
  for (const Call* call : {&a, &b, &c}) call->ExpectRows();
  if (has_cache()) {
    EXPECT_EQ(a.counted + b.counted + c.counted, 10U);
    EXPECT_EQ(rows_.cache()->counts().hits + rows_.cache()->counts().misses, 10U);
  }
}

TEST_P(SharedRowsTest, ARowThatACallHasGotFromAnotherOneGoesOn) {
  Call a(rows_, {7});
  Call b(rows_, {6, 7});
  a.Arrive();
  Call c(rows_, {7, 9});
  EXPECT_THAT(c.requested, ElementsAre(9));
  b.Arrive();
  c.Arrive();
  EXPECT_THAT(c.Await(), IsEmpty());
  EXPECT_THAT(b.Await(), IsEmpty());
  b.ExpectRows();
  c.ExpectRows();
}

TEST_P(SharedRowsTest, RowsOfACallThatFailsAreRequestedByThoseThatWait) {
  auto a = std::make_unique<Call>(rows_, std::vector<int64_t>{7, 8});
  Call b(rows_, {6, 7, 7});
  Call c(rows_, {7, 6});
  a.reset();
  b.Arrive();
  c.Arrive();
  EXPECT_THAT(c.Await(), ElementsAre(7));
  EXPECT_THAT(b.Await(), ElementsAre(7));
  b.ExpectRows();
  c.ExpectRows();
}

TEST_P(SharedRowsTest, NothingIsWrittenToACallThatHasGone) {
  Call a(rows_, {7, 8});
  auto b = std::make_unique<Call>(rows_, std::vector<int64_t>{7});
  b.reset();
  a.Arrive();
  a.ExpectRows();
}

TEST_P(SharedRowsTest, ACallWaitsNoLongerThanItsDeadline) {
  Call a(rows_, {7});
  Call b(rows_, {7});
  EXPECT_THAT(b.requested, IsEmpty());
  b.Arrive();
  EXPECT_THAT(b.Await(std::chrono::milliseconds(50)), ElementsAre(7));
  b.ExpectRows();
  a.Arrive();
  a.ExpectRows();
}

TEST_P(SharedRowsTest, ASmallCallDoesNotWaitForAFarLargerOne) {
  std::vector<int64_t> all(kRowsInAll);
  std::iota(all.begin(), all.end(), 0);
  Call large(rows_, all);
  Call small(rows_, {7, 8});
  EXPECT_THAT(small.requested, ElementsAre(7, 8));
  Call other(rows_, std::vector<int64_t>(all.begin(), all.begin() + 1000));
  EXPECT_THAT(other.requested, IsEmpty());
  small.Arrive();
  large.Arrive();
  EXPECT_THAT(small.Await(), IsEmpty());
  other.Arrive();
  EXPECT_THAT(other.Await(), IsEmpty());
  other.ExpectRows();
}

INSTANTIATE_TEST_SUITE_P(SharedRows, SharedRowsTest,
                         ::testing::Values(0, 16 * CacheShape::kLeastBytes));

}  // namespace
}  // namespace graphd::testing
