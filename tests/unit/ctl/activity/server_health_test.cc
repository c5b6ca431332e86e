// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/server_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Status(const char* state = "ready") {
  return {
      {"server_name", "mine"},
      {"pid", 7},
      {"state", state},
      {"rss_bytes", 5 << 20},
      {"graphs", {{{"id", ""}, {"bytes", (4 << 20) + (1 << 19)}}}},
      {"partitions",
       {{{"part", 0}, {"bytes", 1 << 20}, {"index_bytes", 1 << 19}, {"pages", "2 MiB"}},
        {{"part", 2}, {"bytes", 3 << 20}, {"index_bytes", 0}, {"pages", "4 KiB"}}}},
      {"tensors", {{{"name", "emb"}, {"part", 2}, {"resident_bytes", 1 << 20}, {"trouble", ""}}}},
      {"store", {{"trouble", ""}, {"damage", json::array()}}},
      {"drained", nullptr},
      {"jobs", {{{"job", "a"}, {"members", {{{"role", "trainer"}}, {{"role", "launcher"}}}}}}}};
}

TEST(ServerHealth, AReadyDaemonIsWell) {
  const json machine = MachineHealth("h:1", Status());
  EXPECT_EQ(machine["state"], "ready");
  EXPECT_EQ(machine["ready"], true);
  EXPECT_EQ(machine["degraded"], json::array());
  EXPECT_EQ(machine["memory"]["rss_bytes"], 5 << 20);
  EXPECT_EQ(machine["memory"]["graph_bytes"], (4 << 20) + (1 << 19));
  EXPECT_EQ(machine["memory"]["tensor_bytes"], 1 << 20);
  EXPECT_EQ(machine["pages"], (json{{"2 MiB", 1 << 20}, {"4 KiB", 3 << 20}}));
  EXPECT_EQ(machine["partitions"], (json{0, 2}));
  EXPECT_EQ(machine["jobs"], 1);
  EXPECT_EQ(machine["trainers"], 1);
  EXPECT_EQ(HealthExitCode(json::array({machine})), 0);
}

TEST(ServerHealth, PagesAreThoseOfAllMemory) {
  json status = Status();
  const auto pages_in_table = [&] {
    return HealthTable(json::array({MachineHealth("h", status)}))[1];
  };
  status["partitions"] = {
      {{"part", 0},
       {"bytes", 3000},
       {"pages", "2 MiB transparent"},
       {"page_bytes", {{"2 MiB transparent", 2900}, {"4 KiB", 100}}}},
      {{"part", 1}, {"bytes", 1000}, {"pages", "4 KiB"}, {"page_bytes", {{"4 KiB", 1000}}}}};
  EXPECT_EQ(MachineHealth("h", status)["pages"],
            (json{{"2 MiB transparent", 2900}, {"4 KiB", 1100}}));
  EXPECT_THAT(pages_in_table(), HasSubstr("72 % 2 MiB transparent, 27 % 4 KiB"));
  // The rest of a large segment is less than a huge page.
  status["partitions"][1]["page_bytes"]["4 KiB"] = 0;
  status["partitions"][0]["page_bytes"] = {{"2 MiB transparent", 2971}, {"4 KiB", 29}};
  EXPECT_THAT(pages_in_table(), HasSubstr("ready  2 MiB transparent  "));
}

TEST(ServerHealth, TheGraphsMemoryIsThatOfAllVersions) {
  json status = Status();
  status["graphs"] = {{{"id", "new"}, {"bytes", 5 << 20}}, {{"id", ""}, {"bytes", 7 << 20}}};
  EXPECT_EQ(MachineHealth("h", status)["memory"]["graph_bytes"], 12 << 20);
}

TEST(ServerHealth, ADaemonThatTakesNoJobsIsNotReady) {
  json drained = Status();
  drained["drained"] = {{"by", "alice"}, {"reason", "disks"}};
  EXPECT_EQ(HealthTable(json::array({MachineHealth("h:2", drained)})).back(),
            "h:2 is drained by alice: disks");
  const json loading = {{"server_name", "mine"},
                        {"state", "loading"},
                        {"pid", 8},
                        {"loading", {{"done", 43}, {"total", 100}, {"percent", 43}}}};
  const json well = MachineHealth("h:1", Status());
  for (const auto& [status, state] : {std::pair<json, std::string>(Status("draining"), "draining"),
                                      {drained, "drained"},
                                      {loading, "loading"},
                                      {json{{"host", "x"}}, "?"}}) {
    const json machine = MachineHealth("h:2", status);
    EXPECT_EQ(machine["state"], state);
    EXPECT_EQ(machine["ready"], false);
    EXPECT_EQ(HealthExitCode({well, machine}), 5);
  }
  const json loads = MachineHealth("h", loading);
  EXPECT_EQ(loads["loading"]["done"], 43);
  for (const char* unknown : {"memory", "pages", "partitions", "jobs", "trainers", "drained"}) {
    EXPECT_FALSE(loads.contains(unknown)) << unknown;
  }
  EXPECT_EQ(HealthExitCode({well, {{"host", "h:3"}, {"error", "gone"}}}), 5);
  EXPECT_EQ(HealthExitCode(json::array()), 5);
}

TEST(ServerHealth, ADaemonThatMayNotBeAskedIsNotTakenForOneThatIsDown) {
  const json well = MachineHealth("h:1", Status());
  const json denied = {{"host", "h:2"}, {"error", "no permission"}, {"denied", true}};
  const json lost = {{"host", "h:3"}, {"error", "gone"}, {"denied", false}};
  EXPECT_EQ(HealthExitCode({well, denied}), 10);
  EXPECT_EQ(HealthExitCode({denied, lost}), 5);
  json degraded = Status();
  degraded["store"]["trouble"] = "the disk is full";
  EXPECT_EQ(HealthExitCode({denied, MachineHealth("h:4", degraded)}), 1);
}

TEST(ServerHealth, TroubleAndDamageDegradeADaemonThatIsReady) {
  json trouble = Status(), damage = Status(), tensor = Status();
  trouble["store"]["trouble"] = "the disk is full";
  damage["store"]["damage"] = {"a log segment is missing"};
  tensor["tensors"][0]["trouble"] = "its memory is gone";
  const std::pair<json, const char*> cases[] = {
      {trouble, "changes of tensors: the disk is full"},
      {damage, "found when it started: a log segment is missing"},
      {tensor, "tensor 'emb', partition 2: its memory is gone"}};
  for (const auto& [status, reason] : cases) {
    const json machine = MachineHealth("h:2", status);
    EXPECT_EQ(machine["ready"], true);
    EXPECT_EQ(machine["degraded"], json::array({reason}));
    EXPECT_EQ(HealthExitCode({machine, MachineHealth("h:1", Status())}), 1);
    EXPECT_EQ(HealthExitCode({machine, MachineHealth("h:1", Status("draining"))}), 5);
    const auto lines = HealthTable(json::array({machine}));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_THAT(lines[1], HasSubstr("ready, DEGRADED"));
    EXPECT_EQ(lines[2], StrCat("h:2 is degraded: ", reason));
  }
}

TEST(ServerHealth, TheTableHasALinePerMachine) {
  const auto lines =
      HealthTable({MachineHealth("10.0.0.1:30050", Status()),
                   MachineHealth("10.0.0.2:30050", {{"server_name", "mine"},
                                                    {"state", "loading"},
                                                    {"loading", {{"total", 9}, {"percent", 43}}}}),
                   {{"host", "10.0.0.3:30050"}, {"error", "it is\ngone"}}});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], HasSubstr("ready "));
  EXPECT_THAT(lines[1], HasSubstr("25 % 2 MiB, 75 % 4 KiB"));
  EXPECT_EQ(lines[0].find("MEMORY") + 6, lines[1].find("5.0 MiB") + 7);
  EXPECT_THAT(lines[2], HasSubstr("loading 43 %"));
  EXPECT_EQ(lines[3].find("it is gone"), lines[0].find("SERVER"));
}

}  // namespace
}  // namespace graphd::ctl
