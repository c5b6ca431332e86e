// SPDX-License-Identifier: Apache-2.0
#include "client/routing/row_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "graphd/interrupt.h"

namespace graphd::testing {
namespace {

using std::chrono::steady_clock;

std::shared_ptr<RowRequest> RequestOf(const std::vector<int64_t>& ids, PartId part = 0,
                                      size_t feature = 0) {
  auto request = std::make_shared<RowRequest>(part, feature);
  std::vector<uint32_t> all(ids.size());
  std::iota(all.begin(), all.end(), 0);
  request->Assign(ids, all, [](uint32_t, uint32_t) {});
  return request;
}

steady_clock::time_point In(std::chrono::milliseconds time) { return steady_clock::now() + time; }

TEST(RowRequest, HasTheChosenIdsOnce) {
  const std::vector<int64_t> ids{7, 9, 7, INT64_MAX, 0, 9, 5};
  RowRequest request(0, 0);
  std::vector<std::pair<uint32_t, uint32_t>> again;
  request.Assign(ids, std::vector<uint32_t>{0, 1, 2, 3, 5},
                 [&](uint32_t index, uint32_t first) { again.emplace_back(index, first); });
  EXPECT_THAT(request.indices(), ::testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(again, ::testing::ElementsAre(std::pair(2, 0), std::pair(5, 1)));
  for (const int64_t id : {int64_t{7}, int64_t{9}, INT64_MAX}) EXPECT_TRUE(request.Has(id)) << id;
  for (const int64_t id : {0, 5, -1, 8}) EXPECT_FALSE(request.Has(id)) << id;
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
  EXPECT_THAT(before_second, ::testing::ElementsAre(first));
  first_begun.End();
  auto [third_begun, before_third] = requests.Begin(RequestOf({4}));
  EXPECT_THAT(before_third, ::testing::ElementsAre(second));
}

TEST(RowRequests, ARequestEndsWhenItsCallFails) {
  RowRequests requests;
  const auto request = RequestOf({1});
  std::future<void> waiting;
  {
    const auto begun = requests.Begin(request);
    waiting = std::async(std::launch::async,
                         [&] { request->WaitUntilEnded(In(std::chrono::minutes(10))); });
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  }
  EXPECT_EQ(waiting.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  request->WaitUntilEnded(In(std::chrono::minutes(10)));  // does not wait
  EXPECT_TRUE(requests.Begin(RequestOf({1})).second.empty());
}

TEST(RowRequests, AWaitEndsAtItsDeadline) {
  RowRequests requests;
  const auto request = RequestOf({1});
  const auto begun = requests.Begin(request);
  const auto deadline = In(std::chrono::milliseconds(120));
  request->WaitUntilEnded(deadline);
  EXPECT_GE(steady_clock::now(), deadline);
  request->WaitUntilEnded(deadline);
}

TEST(RowRequests, AWaitCanBeInterrupted) {
  RowRequests requests;
  const auto request = RequestOf({1});
  const auto begun = requests.Begin(request);
  const InterruptCheck check([] { throw std::runtime_error("interrupted"); });
  EXPECT_THROW(request->WaitUntilEnded(In(std::chrono::minutes(10))), std::runtime_error);
}

}  // namespace
}  // namespace graphd::testing
