// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/operation_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

OperationTimes Times(const char* operation, std::vector<TimeBucket> durations,
                     std::vector<TimeBucket> queued = {}) {
  return {operation, {0, std::move(durations)}, {0, std::move(queued)}};
}

json Status(double uptime, const std::vector<OperationTimes>& operations, int64_t pid = 7) {
  return {{"pid", pid}, {"uptime_seconds", uptime}, {"operations", OperationsToJson(operations)}};
}

TEST(OperationTimes, QuantilesAreThoseOfTheRequestsBetweenTwoStatuses) {
  const json before = Status(10, {Times("sample", {{1'000'000'000, 1000}}), Times("gather", {})});
  const json after =
      Status(14, {Times("sample", {{100'000, 390}, {3'000'000, 10}, {1'000'000'000, 1000}},
                        {{1000, 396}, {2'000'000, 4}}),
                  Times("gather", {}), Times("barrier", {{500'000'000, 2}})});
  const json rates = OperationRates(OperationsBetween("h", before, after));
  ASSERT_EQ(rates.size(), 2U) << rates;
  EXPECT_EQ(rates[0]["operation"], "sample");
  EXPECT_EQ(rates[0]["requests"], 100);
  EXPECT_DOUBLE_EQ(rates[0]["p50"], 0.0001);
  EXPECT_DOUBLE_EQ(rates[0]["p99"], 0.003);
  EXPECT_DOUBLE_EQ(rates[0]["queue_p50"], 0.000001);
  EXPECT_DOUBLE_EQ(rates[0]["queue_p99"], 0.000001);
  EXPECT_EQ(rates[1]["operation"], "barrier");
  EXPECT_EQ(rates[1]["requests"], 0.5);
  EXPECT_DOUBLE_EQ(rates[1]["p99"], 0.5);
}

TEST(OperationTimes, ARestartedDaemonHasNone) {
  const json after = Status(14, {Times("sample", {{100'000, 390}})});
  for (const json& before : {json(), Status(3, {}, 8)}) {
    EXPECT_TRUE(OperationsBetween("h", before, after).operations.empty());
  }
  EXPECT_EQ(OperationsTable({OperationsBetween("h", json(), after)}), std::vector<std::string>{});
}

TEST(OperationTimes, ATableJoinsTheMachinesAndNamesTheSlowest) {
  const json nothing = Status(10, {});
  const auto fast =
      OperationsBetween("10.0.0.1:30050", nothing, Status(12, {Times("sample", {{85'000, 990}})}));
  const auto slow = OperationsBetween("10.0.0.2:30050", nothing,
                                      Status(12, {Times("sample", {{85'000, 5}, {12'000'000, 5}}),
                                                  Times("barrier", {{2'500'000'000, 1}})}));
  auto lines = OperationsTable({fast, slow});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("SLOWEST"));
  EXPECT_THAT(lines[1], HasSubstr("sample"));
  EXPECT_THAT(lines[1], HasSubstr(" 500 "));
  EXPECT_THAT(lines[1], HasSubstr("85 us  85 us"));
  EXPECT_THAT(lines[1], HasSubstr("10.0.0.2:30050, 12 ms"));
  EXPECT_THAT(lines[2], HasSubstr("2.5 s"));
  for (const auto& line : {lines[1], lines[2]}) {
    EXPECT_EQ(line.find("10.0.0.2"), lines[0].find("SLOWEST")) << line;
  }
  lines = OperationsTable({slow});
  EXPECT_EQ(lines[0].find("SLOWEST"), std::string::npos);
  EXPECT_THAT(lines[1], HasSubstr("12 ms"));
  EXPECT_EQ(lines[1].size(), lines[0].size());
}

TEST(OperationTimes, ATimeInTheFirstBucketIsOnlyKnownToBeShort) {
  const auto lines = OperationsTable({OperationsBetween(
      "h", Status(10, {}), Status(12, {Times("sample", {{1100, 1}}, {{1000, 1}})}))});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], HasSubstr(" 1 us "));
  EXPECT_THAT(lines[1], HasSubstr("<1 us"));
}

TEST(OperationTimes, DamagedDistributionsCountAsEmpty) {
  const json before = Status(10, {});
  for (const char* buckets : {"[[1]]", "[[2,1],[2,1]]", "[[-1,1]]", "[1,2]", "[[1,\"x\"]]", "7"}) {
    json after = Status(12, {Times("sample", {{1000, 1}}), Times("edges", {{1000, 1}})});
    after["operations"][0]["durations"]["buckets"] = json::parse(buckets);
    const MachineOperations machine = OperationsBetween("h", before, after);
    ASSERT_EQ(machine.operations.size(), 1U) << buckets;
    EXPECT_EQ(machine.operations[0].operation, "edges");
  }
  json after = Status(12, {});
  after["operations"] = {{"a", 1}};
  EXPECT_TRUE(OperationsBetween("h", before, after).operations.empty());
}

}  // namespace
}  // namespace graphd::ctl
