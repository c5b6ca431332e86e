// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

LaunchPlan PlanOf(const std::string& ip_config, int num_trainers, bool all_local = true) {
  LaunchOptions options;
  options.server.server_name = "s";
  options.workspace = "/w";
  options.num_trainers = num_trainers;
  options.command = {{"true"}, true};
  return MakeLaunchPlan(
      options, ParseIpConfig(ip_config, "ip_config"), ip_config, "job", "a secret",
      [all_local](const std::string& address) { return all_local || address == "10.0.0.1"; });
}

std::vector<std::string> LabelsOf(const LaunchPlan& plan) {
  std::vector<std::string> labels;
  for (const HostPlan& host : plan.hosts) {
    for (const TrainerPlan& trainer : host.order.trainers) labels.push_back(trainer.label);
  }
  return labels;
}

std::string ErrorOf(const std::string& ip_config, int num_trainers, bool all_local) {
  try {
    PlanOf(ip_config, num_trainers, all_local);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.what();
  }
  return "";
}

TEST(LaunchPlan, EachJobHasADirectoryForLogsBelowLogDir) {
  const auto log_dir = [](const std::string& given) {
    LaunchOptions options;
    options.workspace = "/w";
    options.log_dir = given;
    options.command = {{"true"}, true};
    const std::string line = "127.0.0.1";
    return MakeLaunchPlan(options, ParseIpConfig(line, "ip_config"), line, "job", "a secret",
                          [](const std::string&) { return true; })
        .hosts[0]
        .order.job.log_dir;
  };
  EXPECT_EQ(log_dir(""), "");
  EXPECT_EQ(log_dir("logs"), "/w/logs/job");
  EXPECT_EQ(log_dir("/var/log/jobs"), "/var/log/jobs/job");
}

TEST(LaunchPlan, RefusesNoLogsWhereLogsAreNeeded) {
  const auto error_of = [](bool detach, int max_restarts, const std::string& log_dir) {
    LaunchOptions options;
    options.workspace = "/w";
    options.no_logs = true;
    options.detach = detach;
    options.max_restarts = max_restarts;
    options.log_dir = log_dir;
    options.command = {{"true"}, true};
    const std::string line = "127.0.0.1";
    try {
      MakeLaunchPlan(options, ParseIpConfig(line, "ip_config"), line, "job", "a secret",
                     [](const std::string&) { return true; });
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of(false, 0, ""), "");
  EXPECT_THAT(error_of(true, 0, ""), HasSubstr("--detach"));
  EXPECT_THAT(error_of(false, 1, ""), HasSubstr("--max_restarts"));
  EXPECT_THAT(error_of(false, 0, "logs"), HasSubstr("--log_dir"));
}

TEST(LaunchPlan, HostsKnowWhetherOtherMachinesMustReachThem) {
  const std::string lines = "10.0.0.1\n10.0.0.2\n";
  EXPECT_TRUE(PlanOf(lines, 1, false).hosts[0].order.server.among_others);
  EXPECT_TRUE(PlanOf(lines, 1, false).hosts[1].order.server.among_others);
  EXPECT_FALSE(PlanOf(lines, 1, true).hosts[0].order.server.among_others);
}

TEST(LaunchPlan, RanksAreNumberedAcrossLines) {
  const LaunchPlan plan = PlanOf("10.0.0.1\n10.0.0.2\n", 2, false);
  EXPECT_EQ(plan.world_size, 4);
  ASSERT_EQ(plan.hosts.size(), 2u);
  EXPECT_TRUE(plan.hosts[0].is_local);
  EXPECT_FALSE(plan.hosts[1].is_local);
  EXPECT_THAT(LabelsOf(plan), ElementsAre("10.0.0.1:0", "10.0.0.1:1", "10.0.0.2:2", "10.0.0.2:3"));
  const TrainerPlan& last = plan.hosts[1].order.trainers[1];
  EXPECT_EQ(last.rank, 3);
  EXPECT_EQ(last.local_rank, 1);
  EXPECT_EQ(last.local_world_size, 2);
  EXPECT_EQ(last.part, 1);
  EXPECT_EQ(plan.master_addr, "10.0.0.1");
  EXPECT_TRUE(plan.hosts[0].order.is_master);
  EXPECT_FALSE(plan.hosts[1].order.is_master);
}

TEST(LaunchPlan, TwoPortsOfOneAddressAreTwoDaemonsLabelledWithTheirPorts) {
  const LaunchPlan plan = PlanOf("127.0.0.1 30050\n127.0.0.1 30051\n", 1);
  EXPECT_THAT(LabelsOf(plan), ElementsAre("127.0.0.1:30050:0", "127.0.0.1:30051:1"));
  EXPECT_THAT(plan.hosts[1].order.server.parts, ElementsAre(1));
  EXPECT_EQ(plan.hosts[1].order.trainers_on_machine, 2);
}

TEST(LaunchPlan, LinesOfOneAddressAndPortShareADaemon) {
  const LaunchPlan plan = PlanOf("10.0.0.1\n10.0.0.2\n10.0.0.1\n", 2, false);
  ASSERT_EQ(plan.hosts.size(), 2u);
  EXPECT_THAT(plan.hosts[0].order.server.parts, ElementsAre(0, 2));
  ASSERT_EQ(plan.hosts[0].order.trainers.size(), 4u);
  const TrainerPlan& third = plan.hosts[0].order.trainers[2];
  EXPECT_EQ(third.rank, 4);
  EXPECT_EQ(third.local_rank, 0);  // each line is a machine in DGL's sense
  EXPECT_EQ(third.part, 2);
  EXPECT_EQ(plan.hosts[0].order.trainers_on_machine, 4);
}

TEST(LaunchPlan, TheThirdColumnOverridesNumTrainersAndMayBeZero) {
  const LaunchPlan plan = PlanOf("10.0.0.1 30050 0\n10.0.0.2\n10.0.0.3 30050 3\n", 2, false);
  EXPECT_EQ(plan.world_size, 5);
  EXPECT_TRUE(plan.hosts[0].order.trainers.empty());
  EXPECT_EQ(plan.hosts[2].order.trainers.size(), 3u);
  EXPECT_EQ(plan.master_addr, "10.0.0.2");  // the first host with a trainer
  EXPECT_FALSE(plan.hosts[0].order.is_master);
  EXPECT_TRUE(plan.hosts[1].order.is_master);
}

// Returns a plan with hosts that only compute; "10.0.0.1" is this machine.
LaunchPlan PlanWith(const std::string& trainer_hosts, int num_trainers,
                    const std::string& ip_config = "10.0.0.1\n10.0.0.2\n", bool detach = false) {
  LaunchOptions options;
  options.server.server_name = "s";
  options.server.keys = "default";
  options.server.part_config = "/w/g.json";
  options.workspace = "/w";
  options.num_trainers = num_trainers;
  options.trainer_hosts = ParseTrainerHosts(trainer_hosts, "gpus.txt");
  options.command = {{"true"}, true};
  options.detach = detach;
  return MakeLaunchPlan(options, ParseIpConfig(ip_config, "ip_config"), ip_config, "job",
                        "a secret", [](const std::string& address) {
                          return address == "10.0.0.1" || address == "localhost" ||
                                 address == "127.0.0.1";
                        });
}

std::string PlanErrorOf(const std::string& trainer_hosts, int num_trainers,
                        const std::string& ip_config = "10.0.0.1\n10.0.0.2\n",
                        bool detach = false) {
  try {
    PlanWith(trainer_hosts, num_trainers, ip_config, detach);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.what();
  }
  return "";
}

TEST(LaunchPlan, TrainerHostsHaveTheLastRanksAndNoDaemon) {
  const LaunchPlan plan = PlanWith("10.0.0.8\n10.0.0.9 1\n", 2);
  EXPECT_EQ(plan.world_size, 7);
  EXPECT_THAT(LabelsOf(plan), ElementsAre("10.0.0.1:0", "10.0.0.1:1", "10.0.0.2:2", "10.0.0.2:3",
                                          "10.0.0.8:4", "10.0.0.8:5", "10.0.0.9:6"));
  EXPECT_EQ(plan.master_addr, "10.0.0.1");
  const HostOrder& remote = plan.hosts.at(2).order;
  EXPECT_TRUE(remote.only_trainers);
  EXPECT_FALSE(plan.hosts[1].order.only_trainers);
  EXPECT_THAT(remote.server.parts, ElementsAre());
  EXPECT_EQ(remote.trainers_on_machine, 2);
  EXPECT_EQ(remote.trainers[1].local_rank, 1);
  EXPECT_EQ(remote.meeting.address, "10.0.0.1");
  EXPECT_GT(remote.host_timeout, 0);
  const auto variables =
      TrainerEnvironment(DecodeOrder(EncodeOrder(remote)), remote.trainers[0], 1, 8, "/w/ip.txt");
  EXPECT_THAT(variables, Contains(Pair("GRAPHD_ROLE", "trainer")));
  EXPECT_THAT(variables, Contains(Pair("GRAPHD_PART_ID", "")));
  EXPECT_THAT(variables, Contains(Pair("GRAPHD_REMOTE_TRAINERS", "3")));
  EXPECT_THAT(variables, Contains(Pair("GRAPHD_KEYS", "default")));
  const HostOrder& host = plan.hosts[0].order;
  const auto others = TrainerEnvironment(host, host.trainers[0], 1, 8, "/w/ip.txt");
  EXPECT_THAT(others, Contains(Pair("GRAPHD_ROLE", "host")));
  EXPECT_THAT(others, Contains(Pair("GRAPHD_PART_ID", "0")));
  EXPECT_THAT(others, Contains(Pair("GRAPHD_REMOTE_TRAINERS", "3")));
}

TEST(LaunchPlan, WithoutTrainersBesideThePartitionsATrainerHostHasOne) {
  const LaunchPlan plan = PlanWith("10.0.0.8\n10.0.0.9 3\n", 0);
  EXPECT_THAT(LabelsOf(plan), ElementsAre("10.0.0.8:0", "10.0.0.9:1", "10.0.0.9:2", "10.0.0.9:3"));
  EXPECT_EQ(plan.master_addr, "10.0.0.8");
  EXPECT_TRUE(plan.hosts.at(2).order.is_master);
  EXPECT_EQ(plan.hosts[0].order.job.remote_trainers, 4);
}

TEST(LaunchPlan, ATrainerHostMakesTheOnlyServerReachableFromOutside) {
  const LaunchPlan plan = PlanWith("10.0.0.8\n", 1, "10.0.0.1\n");
  EXPECT_TRUE(plan.hosts.at(0).order.server.among_others);
}

TEST(LaunchPlan, EachMachineIsNamedOnce) {
  EXPECT_THAT(PlanErrorOf("10.0.0.8\n10.0.0.2\n", 1),
              HasSubstr("gpus.txt line 2: '10.0.0.2' is a host of ip_config already"));
  EXPECT_THAT(PlanErrorOf("localhost\n", 1), HasSubstr("'localhost' is a host of ip_config"));
  EXPECT_THAT(PlanErrorOf("localhost\n127.0.0.1\n", 1, "10.0.0.2\n"),
              HasSubstr("'127.0.0.1' is a host of gpus.txt line 1 already"));
}

TEST(LaunchPlan, ATrainerHostMayHaveALoopbackAddressUnlessOthersConnectToIt) {
  EXPECT_EQ(PlanErrorOf("localhost\n", 1, "10.0.0.2\n"), "");
  EXPECT_THAT(PlanErrorOf("localhost\n10.0.0.8\n", 0, "10.0.0.2\n"),
              HasSubstr("gpus.txt line 1 names localhost, which"));
  EXPECT_THAT(PlanErrorOf("10.0.0.8\n", 1, "127.0.0.1\n"), HasSubstr("can't reach"));
  EXPECT_THAT(PlanErrorOf("localhost\n", 1, "10.0.0.2\n", /*detach=*/true),
              HasSubstr("gpus.txt line 1 names localhost, which"));
}

TEST(LaunchPlan, TrainerHostsAreShownWithoutADaemon) {
  const LaunchPlan plan = PlanWith("10.0.0.8\n", 1);
  const auto json = nlohmann::json::parse(PlanToJson(plan));
  EXPECT_EQ(json["hosts"][2]["address"], "10.0.0.8");
  EXPECT_EQ(json["hosts"][2]["parts"].size(), 0u);
  EXPECT_FALSE(json["hosts"][2].contains("port"));
  EXPECT_EQ(json["hosts"][2]["trainers"][0]["env"]["GRAPHD_ROLE"], "trainer");
  EXPECT_THAT(PlanToText(plan),
              HasSubstr("host 10.0.0.8 (over ssh)\n  no daemon\n  trainer: rank 2, "
                        "local rank 0, reads over the network"));
}

TEST(LaunchPlan, ErrorsOfImpossiblePlansNameARemedy) {
  EXPECT_THAT(ErrorOf("10.0.0.1\n", 0, true), HasSubstr("no host has a trainer"));
  EXPECT_THAT(ErrorOf("127.0.0.1\n10.0.0.2\n", 1, false), HasSubstr("can't reach"));
  LaunchOptions no_command;
  EXPECT_THROW(MakeLaunchPlan(no_command, ParseIpConfig("h", "f"), "h", "job", "",
                              [](const std::string&) { return true; }),
               Error);
}

TEST(LaunchPlan, AJobThatGoesOnWithoutHostsHasSomeThatItCanLose) {
  LaunchOptions options;
  options.server.server_name = "s";
  options.workspace = "/w";
  options.command = {{"true"}, true};
  options.trainer_hosts = {{"10.0.0.3", 2, "gpus.txt line 1"}};
  options.detach = true;
  options.max_restarts = 1;
  options.min_trainers = 2;
  const auto error_of = [](const LaunchOptions& given) -> std::string {
    try {
      const std::string lines = "10.0.0.1\n10.0.0.2\n";
      MakeLaunchPlan(given, ParseIpConfig(lines, "ip_config"), lines, "job", "a secret",
                     [](const std::string&) { return false; });
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of(options), "no error");
  LaunchOptions wrong = options;
  wrong.min_trainers = 5;
  EXPECT_THAT(error_of(wrong), HasSubstr("the job has only 4 trainers"));
  wrong = options;
  wrong.max_restarts = 0;
  EXPECT_THAT(error_of(wrong), HasSubstr("needs --detach and --max_restarts"));
  wrong = options;
  wrong.trainer_hosts.clear();
  EXPECT_THAT(error_of(wrong), HasSubstr("needs --trainer_hosts"));
  wrong = options;
  wrong.host_timeout = 3;
  EXPECT_THAT(error_of(wrong), HasSubstr("a --host_timeout of at least 4 s"));
}

TEST(LaunchPlan, TrainersGetTheSecretOfTheJobAndNobodySeesIt) {
  const LaunchPlan plan = PlanOf("127.0.0.1\n", 1);
  const HostOrder& order = plan.hosts.at(0).order;
  const auto variables = TrainerEnvironment(order, order.trainers.at(0), 1, 1, "f");
  EXPECT_THAT(variables, Contains(Pair("GRAPHD_JOB_SECRET", "a secret")));
  EXPECT_EQ(DecodeOrder(EncodeOrder(order)).job.secret, "a secret");
  EXPECT_THAT(PlanToJson(plan), Not(HasSubstr("a secret")));
  EXPECT_THAT(PlanToText(plan), Not(HasSubstr("a secret")));
}

TEST(LaunchPlan, OnlyRemoteHostsHaveAHeartbeat) {
  const LaunchPlan plan = PlanOf("10.0.0.1\n10.0.0.2\n", 1, false);
  EXPECT_EQ(plan.hosts[0].order.host_timeout, 0);
  EXPECT_GT(plan.hosts[1].order.host_timeout, 0);
}

TEST(LaunchPlan, IsShownAsTextAndAsJson) {
  const LaunchPlan plan = PlanOf("10.0.0.1\n10.0.0.2 30051 0\n", 1, false);
  const auto json = nlohmann::json::parse(PlanToJson(plan));
  EXPECT_EQ(json["world_size"], 1);
  EXPECT_EQ(json["hosts"][0]["trainers"][0]["env"]["RANK"], "0");
  EXPECT_EQ(json["hosts"][0]["trainers"][0]["env"]["MASTER_PORT"], "free port");
  EXPECT_EQ(json["hosts"][1]["local"], false);
  EXPECT_THAT(PlanToText(plan), HasSubstr("host 10.0.0.2:30051 (over ssh)"));
  EXPECT_THAT(PlanToText(plan), HasSubstr("no trainer"));
}

}  // namespace
}  // namespace graphd::ctl
