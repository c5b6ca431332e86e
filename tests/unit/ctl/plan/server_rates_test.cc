// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/server_rates.h"

#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using nlohmann::json;

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
