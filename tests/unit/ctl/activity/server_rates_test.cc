// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/server_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace graphd::ctl {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

json Status(int64_t pid, double uptime, int64_t rows, int64_t pushes) {
  return {{"server_name", "mine"},
          {"pid", pid},
          {"uptime_seconds", uptime},
          {"requests", 2 * rows},
          {"rows_served", rows},
          {"edges_sampled", 0},
          {"bytes_sent", 0},
          {"rss_bytes", 5 << 20},
          {"tensors", {{{"resident_bytes", 1 << 20}}, {{"resident_bytes", 2 << 20}}}},
          {"store", {{"pushes", pushes}}},
          {"jobs",
           {{{"job", "a"}, {"members", {{{"role", "trainer"}}, {{"role", "launcher"}}}}},
            {{"job", "b"}, {"members", {{{"role", "trainer"}}, {{"role", "trainer"}}}}}}}};
}

TEST(MachineRates, AreDifferencesPerSecondOfTheDaemonsUptime) {
  const json machine = MachineRates("h", Status(7, 10, 1000, 0), Status(7, 14, 5000, 8));
  EXPECT_EQ(machine["seconds"], 4);
  EXPECT_EQ(machine["rows"], 1000);
  EXPECT_EQ(machine["requests"], 2000);
  EXPECT_EQ(machine["edges"], 0);
  EXPECT_EQ(machine["pushes"], 2);
  EXPECT_EQ(machine["jobs"], 2);
  EXPECT_EQ(machine["trainers"], 3);
  EXPECT_EQ(machine["tensor_bytes"], 3 << 20);
}

TEST(MachineRates, AreAbsentForARestartedDaemon) {
  for (const json& before : {json(), Status(7, 3, 10, 0)}) {
    const json machine = MachineRates("h", before, Status(8, 14, 5000, 8));
    EXPECT_FALSE(machine.contains("rows"));
    EXPECT_EQ(machine["pid"], 8);
  }
}

TEST(MachineRates, AreAbsentForADaemonThatWasRestartedInAContainer) {
  // It has the same number again, and may even have served for longer than the previous one.
  const json machine = MachineRates("h", Status(1, 3, 10, 0), Status(1, 14, 9, 8));
  EXPECT_FALSE(machine.contains("rows"));
  EXPECT_FALSE(machine.contains("job_rates"));
}

TEST(MachineRates, AreNeverNegative) {
  json before = Status(7, 10, 1000, 9), after = Status(7, 14, 1000, 3);
  before["mapped_rows"] = 500, after["mapped_rows"] = 100;
  const json machine = MachineRates("h", before, after);
  EXPECT_EQ(machine["pushes"], 0);
  EXPECT_EQ(machine["mapped_rows"], 0);
}

TEST(MachineRates, OfAJobBeginAgainWhenItHasComeBack) {
  json before = Status(7, 10, 0, 0), after = Status(7, 14, 0, 0);
  const auto set = [](json& status, size_t job, double seconds, int64_t calls, int64_t rows) {
    status["jobs"][job]["seconds"] = seconds;
    status["jobs"][job]["mapped_calls"] = calls;
    status["jobs"][job]["mapped_rows"] = rows;
  };
  set(before, 0, 50, 10, 1000), set(after, 0, 54, 18, 3000);
  set(before, 1, 50, 10, 1000), set(after, 1, 3, 12, 800);  // it has made more calls since
  json rates = MachineRates("h", before, after)["job_rates"];
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_EQ(rates[0]["mapped_rows"], 500);
  EXPECT_EQ(rates[0]["mapped_calls"], 2);
  EXPECT_EQ(rates[1]["mapped_rows"], 200);
  EXPECT_EQ(rates[1]["mapped_calls"], 3);
  set(before, 1, 0, 900, 90000), set(after, 1, 4, 1, 1);  // no rate is negative even so
  rates = MachineRates("h", before, after)["job_rates"];
  EXPECT_EQ(rates[1]["mapped_rows"], 0);
}

TEST(MachineRates, ShowKnownCountersOfADaemonOfAnotherVersion) {
  const json machine = MachineRates("h", {{"pid", 1}, {"uptime_seconds", 1.0}, {"store", nullptr}},
                                    {{"pid", 1}, {"uptime_seconds", 2.0}});
  EXPECT_EQ(machine["pushes"], 0);
  EXPECT_EQ(machine["rss_bytes"], 0);
}

TEST(RatesTable, ShowsTheShareOfRowsThatWereCached) {
  json before = Status(7, 10, 0, 0), after = Status(7, 11, 5000, 0);
  before["rows_cached"] = 1000, before["rows_not_cached"] = 1000;
  after["rows_cached"] = 8000, after["rows_not_cached"] = 4000;
  const json machine = MachineRates("h", before, after);
  EXPECT_EQ(machine["rows_cached"], 7000);
  const auto lines = RatesTable(json::array({machine}));
  EXPECT_EQ(lines[0].find("CACHED") + 6, lines[1].find("70%") + 3) << lines[1];
}

TEST(RatesTable, IsDividedForANarrowTerminal) {
  json before = Status(7, 10, 0, 0), after = Status(7, 11, 5000, 0);
  before["mapped_rows"] = 0, after["mapped_rows"] = 77;
  const json machines = json::array(
      {MachineRates("10.0.0.1:30050", before, after), {{"host", "10.0.0.2:1"}, {"error", "gone"}}});
  const auto whole = RatesTable(machines);
  ASSERT_EQ(whole.size(), 3u);
  const auto lines = RatesTable(machines, 80);
  ASSERT_EQ(lines.size(), 5u);  // the machine that is gone has its message once
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(lines[2], HasSubstr("gone"));
  EXPECT_THAT(lines[3], StartsWith("MACHINE"));
  EXPECT_THAT(lines[4], StartsWith("10.0.0.1:30050"));
  EXPECT_EQ(lines[3].find("MAPPED ROWS/s") + 13, lines[4].find("77") + 2) << lines[4];
  std::istringstream headings(whole[0]);
  for (std::string heading; headings >> heading;) {
    EXPECT_THAT(lines[0] + lines[3], HasSubstr(heading));
  }
  // A terminal that is narrower than any two columns gets a column at a time.
  EXPECT_EQ(RatesTable(machines, 1).size(), 1 + 13 * 2u);
}

TEST(RatesTable, TellsThatAMachineLoads) {
  json loads = MachineRates("h", json(), {{"server_name", "products"}});
  loads["loading"] = {{"done", 43}, {"total", 100}, {"percent", 43}};
  EXPECT_THAT(RatesTable(json::array({loads}))[1], EndsWith("products  loading 43 %"));
  loads["loading"] = {{"done", 0}, {"total", 0}, {"percent", 0}};
  EXPECT_THAT(RatesTable(json::array({loads}))[1], EndsWith("products  loading"));
}

TEST(RatesTable, HasOneAlignedLinePerMachine) {
  const auto lines =
      RatesTable({MachineRates("10.0.0.1:30050", Status(7, 10, 0, 0), Status(7, 11, 1234567, 3)),
                  MachineRates("10.0.0.10:30050", json(), Status(7, 11, 5000, 8)),
                  {{"host", "10.0.0.9:1"}, {"error", "it is\ngone, and nobody knows where to"}}});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].find("ROWS/s") + 6, lines[1].find("1235k") + 5);
  EXPECT_EQ(lines[0].find("PUSHES/s") + 8, lines[1].find("3.0") + 3);
  EXPECT_EQ(lines[0].find("ROWS/s") + 5, lines[2].find("-", lines[0].find("EDGES") - 4));
  EXPECT_EQ(lines[3].find("it is gone"), lines[0].find("SERVER"));
  EXPECT_EQ(lines[1].size(), lines[0].size());
}

}  // namespace
}  // namespace graphd::ctl
