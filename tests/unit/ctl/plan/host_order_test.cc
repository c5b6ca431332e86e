// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/host_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

HostOrder SomeOrder() {
  HostOrder order;
  order.version = "0.1.0";
  ServerSpec& server = order.server;
  server.server_name = "products";
  server.address = "10.0.0.1";
  server.port = 30050;
  server.parts = {0, 3};
  server.part_config = "/w/g.json";
  server.num_parts = 4;
  server.graphd = "/bin/graphd";
  server.num_servers = 2;
  server.state_dir = "/state";
  server.durability = "power";
  server.memory_dir = "/mnt/memory";
  server.embedding_memory = uint64_t{1} << 36;
  server.keep_alive = true;
  order.job.job_id = "j1";
  order.job.workspace = "/w";
  order.job.log_dir = "/w/logs/j1";
  order.job.no_logs = true;
  order.job.command = {{"echo", "it's \"here\"\n", ""}, false};
  order.job.master_addr = "10.0.0.1";
  order.job.world_size = 4;
  order.job.num_samplers = 3;
  order.job.row_cache = uint64_t{5} << 30;
  order.job.extra_envs = {"A=b=c", "OMP_NUM_THREADS=9"};
  order.trainers = {{2, 0, 2, 3, "h:2"}, {3, 1, 2, 3, "h:3"}};
  order.trainers_on_machine = 2;
  order.server.keys = "/keys";
  order.key_files = {{"ca.pem", "text\n"}};
  order.control = {ControlVerb::kEndJob, "alice@host-1", "the night's run", "j1", "debug", 7,
                   "/data/g.json",       "0123"};
  return order;
}

std::map<std::string, std::string> EnvironmentOf(const HostOrder& order, size_t trainer) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] :
       TrainerEnvironment(order, order.trainers[trainer], 5555, 8, "/w/ip.txt")) {
    variables[name] = value;  // the last one wins, as in the trainer's environment
  }
  return variables;
}

TEST(HostOrder, IsEncodedAsOneLine) {
  const HostOrder order = SomeOrder();
  const std::string line = EncodeOrder(order);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const HostOrder back = DecodeOrder(line);
  EXPECT_EQ(EncodeOrder(back), line);
  EXPECT_EQ(back.job.command.words, order.job.command.words);
  EXPECT_EQ(back.server.parts, order.server.parts);
  EXPECT_EQ(back.trainers[1].label, "h:3");
  EXPECT_EQ(back.key_files.at(0).text, "text\n");
}

TEST(HostOrder, AnOrderForLogsKeepsItsOptions) {
  HostOrder order = SomeOrder();
  order.action = HostAction::kServerLogs;
  order.logs = {100, 1.7e9 + 0.5, "warning", true, false};
  const HostOrder back = DecodeOrder(EncodeOrder(order));
  EXPECT_EQ(back.action, HostAction::kServerLogs);
  EXPECT_EQ(back.logs.lines, 100);
  EXPECT_EQ(back.logs.since, 1.7e9 + 0.5);
  EXPECT_EQ(back.logs.least_level, "warning");
  EXPECT_TRUE(back.logs.follow);
  EXPECT_FALSE(back.logs.has_journal);
}

TEST(HostOrder, LinesThatAreNotOrdersAreRejected) {
  for (const char* line : {"", "{}", "[]", "nonsense", "{\"action\":\"run\"}"}) {
    EXPECT_THROW(DecodeOrder(line), Error) << line;
  }
}

TEST(HostOrder, NumbersThatDoNotFitTheirFieldsAreRejected) {
  const std::string line = EncodeOrder(SomeOrder());
  const std::string whole = "\"num_servers\":";
  const size_t at = line.find(whole) + whole.size();
  for (const char* number : {"1e300", "0.5", "2147483648", "true"}) {
    std::string other = line;
    other.replace(at, line.find(',', at) - at, number);
    EXPECT_THROW(DecodeOrder(other), Error) << other;
  }
}

TEST(HostOrder, BytesThatAreNotUtf8AreRejectedWithAnExplanation) {
  HostOrder order = SomeOrder();
  order.job.command.words = {"echo \xff"};
  EXPECT_THROW(EncodeOrder(order), Error);
}

TEST(TrainerEnvironment, HasTheVariablesThatTorchAndGraphdRead) {
  HostOrder order = SomeOrder();
  order.job.extra_envs.clear();
  const auto variables = EnvironmentOf(order, 1);
  EXPECT_EQ(variables.at("RANK"), "3");
  EXPECT_EQ(variables.at("LOCAL_RANK"), "1");
  EXPECT_EQ(variables.at("WORLD_SIZE"), "4");
  EXPECT_EQ(variables.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(variables.at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(variables.at("MASTER_PORT"), "5555");
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "4");  // 8 cores, 2 trainers
  EXPECT_EQ(variables.at("GRAPHD_SERVER_NAME"), "products");
  EXPECT_EQ(variables.at("GRAPHD_IP_CONFIG"), "/w/ip.txt");
  EXPECT_EQ(variables.at("GRAPHD_PART_CONFIG"), "/w/g.json");
  EXPECT_EQ(variables.at("GRAPHD_JOB_ID"), "j1");
  EXPECT_EQ(variables.at("GRAPHD_PART_ID"), "3");
  EXPECT_EQ(variables.at("GRAPHD_NUM_SAMPLERS"), "3");
  EXPECT_EQ(variables.at("GRAPHD_ROW_CACHE"), "5368709120");
  EXPECT_EQ(variables.count("GRAPHD_RUNTIME_DIR"), 0u);
}

TEST(TrainerEnvironment, ExtraEnvsOverrideOtherVariables) {
  const auto variables = EnvironmentOf(SomeOrder(), 0);
  EXPECT_EQ(variables.at("A"), "b=c");
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "9");
}

TEST(TrainerEnvironment, OmpThreadsAreAtLeastOneOrTheGivenNumber) {
  HostOrder order = SomeOrder();
  order.job.extra_envs.clear();
  order.trainers_on_machine = 20;
  EXPECT_EQ(EnvironmentOf(order, 0).at("OMP_NUM_THREADS"), "1");
  order.job.num_omp_threads = 6;
  EXPECT_EQ(EnvironmentOf(order, 0).at("OMP_NUM_THREADS"), "6");
}

}  // namespace
}  // namespace graphd::ctl
