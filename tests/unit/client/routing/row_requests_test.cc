// SPDX-License-Identifier: Apache-2.0
#include "client/routing/row_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "client/routing/distinct_ids.h"
#include "graphd/interrupt.h"

namespace graphd::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Missing = std::vector<std::pair<int64_t, int64_t>>;

// Requests rows that are 8 bytes wide. Row ids[i] is row i of the output.
std::shared_ptr<RowRequest> RequestOf(const std::vector<int64_t>& ids, PartId part = 0,
                                      size_t feature = 0) {
  std::vector<int64_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), 0);
  return std::make_shared<RowRequest>(part, feature, sizeof(int64_t), ids, positions);
}

const std::byte* BytesOf(const std::vector<int64_t>& rows) {
  return reinterpret_cast<const std::byte*>(rows.data());
}

// A call that wants rows of a request.
struct Caller {
  explicit Caller(const std::shared_ptr<RowRequest>& request, size_t rows = 4)
      : out(rows, -1), awaited(request, reinterpret_cast<std::byte*>(out.data())) {}
  size_t Wait(steady_clock::time_point deadline) {
    return awaited.Wait(
        deadline, [this](int64_t id, int64_t position) { missing.emplace_back(id, position); });
  }
  std::vector<int64_t> out;
  RowRequest::Awaited awaited;
  Missing missing;
};

steady_clock::time_point In(std::chrono::milliseconds time) { return steady_clock::now() + time; }

TEST(DistinctIds, AreInTheirOrderAndFound) {
  const std::vector<int64_t> ids{7, 9, 7, INT64_MAX, 0, 9, 5};
  DistinctIds distinct;
  for (int round = 0; round < 2; round++) {
    std::vector<std::pair<uint32_t, uint32_t>> again;
    distinct.Assign(ids, std::vector<uint32_t>{0, 1, 2, 3, 5},
                    [&](uint32_t index, uint32_t first) { again.emplace_back(index, first); });
    EXPECT_THAT(distinct.indices(), ElementsAre(0, 1, 3));
    EXPECT_THAT(again, ElementsAre(std::pair(2, 0), std::pair(5, 1)));
    EXPECT_EQ(distinct.Find(7), 0U);
    EXPECT_EQ(distinct.Find(9), 1U);
    EXPECT_EQ(distinct.Find(INT64_MAX), 2U);
    for (const int64_t id : {0, 5, -1, 8}) EXPECT_EQ(distinct.Find(id), DistinctIds::kNone) << id;
  }
}

TEST(RowRequests, TellsOfEarlierOnesOfTheSameRows) {
  RowRequests requests;
  const auto first = RequestOf({1, 2}), second = RequestOf({2, 3});
  auto [first_begun, before_first] = requests.Begin(first);
  EXPECT_TRUE(before_first.empty());
  auto [other_part, before_part] = requests.Begin(RequestOf({1}, 1));
  auto [other_feature, before_feature] = requests.Begin(RequestOf({1}, 0, 1));
  EXPECT_TRUE(before_part.empty());
  EXPECT_TRUE(before_feature.empty());
  auto [second_begun, before_second] = requests.Begin(second);
  EXPECT_THAT(before_second, ElementsAre(first));
  first_begun.End(nullptr);
  auto [third_begun, before_third] = requests.Begin(RequestOf({4}));
  EXPECT_THAT(before_third, ElementsAre(second));
}

TEST(RowRequests, OthersGetTheRowsThatTheyWant) {
  RowRequests requests;
  const auto request = RequestOf({10, 11, 12, 13});
  auto begun = requests.Begin(request).first;
  Caller a(request), b(request);
  a.awaited.Add(0, 2, 0);
  a.awaited.Add(3, 0, 1);
  b.awaited.Add(1, 1, 0);
  b.awaited.Add(2, 3, 1);
  EXPECT_TRUE(a.awaited.Begin() && b.awaited.Begin());
  auto waiting =
      std::async(std::launch::async, [&] { return a.Wait(In(std::chrono::minutes(10))); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  request->LeaveOut(2);
  const std::vector<int64_t> rows{100, 110, 120, 130};
  begun.End(BytesOf(rows));
  EXPECT_EQ(waiting.get(), 2U);
  EXPECT_THAT(a.out, ElementsAre(130, -1, 100, -1));
  EXPECT_THAT(a.missing, IsEmpty());
  EXPECT_EQ(b.Wait(In(std::chrono::minutes(10))), 1U);
  EXPECT_THAT(b.out, ElementsAre(-1, 110, -1, -1));
  EXPECT_THAT(b.missing, ElementsAre(std::pair(12, 3)));  // the call itself got it from another one
}

TEST(RowRequests, RowsOfACallThatFailsAreMissing) {
  RowRequests requests;
  const auto request = RequestOf({1});
  Caller caller(request), late(request);
  caller.awaited.Add(0, 1, 0);
  late.awaited.Add(0, 1, 0);
  std::future<size_t> waiting;
  {
    const auto begun = requests.Begin(request);
    EXPECT_TRUE(caller.awaited.Begin());
    waiting =
        std::async(std::launch::async, [&] { return caller.Wait(In(std::chrono::minutes(10))); });
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  }
  EXPECT_EQ(waiting.get(), 0U);
  EXPECT_THAT(caller.missing, ElementsAre(std::pair(1, 1)));
  EXPECT_FALSE(late.awaited.Begin());
  EXPECT_TRUE(requests.Begin(RequestOf({1})).second.empty());
}

TEST(RowRequests, NothingIsWrittenAfterADeadline) {
  RowRequests requests;
  const auto request = RequestOf({1});
  auto begun = requests.Begin(request).first;
  Caller caller(request);
  caller.awaited.Add(0, 1, 0);
  EXPECT_TRUE(caller.awaited.Begin());
  const auto deadline = In(std::chrono::milliseconds(120));
  EXPECT_EQ(caller.Wait(deadline), 0U);
  EXPECT_GE(steady_clock::now(), deadline);
  EXPECT_THAT(caller.missing, ElementsAre(std::pair(1, 1)));
  const std::vector<int64_t> rows{100};
  begun.End(BytesOf(rows));
  EXPECT_THAT(caller.out, ElementsAre(-1, -1, -1, -1));
}

TEST(RowRequests, AWaitCanBeInterrupted) {
  RowRequests requests;
  const auto request = RequestOf({1});
  auto begun = requests.Begin(request).first;
  const InterruptCheck check([] { throw std::runtime_error("interrupted"); });
  {
    Caller caller(request);
    caller.awaited.Add(0, 1, 0);
    EXPECT_TRUE(caller.awaited.Begin());
    EXPECT_THROW(caller.Wait(In(std::chrono::minutes(10))), std::runtime_error);
  }
  const std::vector<int64_t> rows{100};
  begun.End(BytesOf(rows));  // the caller's memory has gone
}

}  // namespace
}  // namespace graphd::testing
