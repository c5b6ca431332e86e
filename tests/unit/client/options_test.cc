// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "base/file.h"
#include "base/processor.h"
#include "base/strings.h"
#include "format/partitioner.h"
#include "graphd/dist_graph.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Sets a trainer's environment variables, and no others, until it is destroyed.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const char* name : {"GRAPHD_SERVER_NAME",
                             "GRAPHD_IP_CONFIG",
                             "GRAPHD_PART_CONFIG",
                             "GRAPHD_JOB_ID",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "GRAPHD_PART_ID",
                             "GRAPHD_NUM_SAMPLERS",
                             "GRAPHD_ROW_CACHE",
                             "GRAPHD_TRANSPORT",
                             "GRAPHD_TIMEOUT",
                             "GRAPHD_STATE_DIR",
                             "GRAPHD_SECRET",
                             "GRAPHD_ROLE",
                             "GRAPHD_REMOTE_TRAINERS",
                             "TORCHELASTIC_RUN_ID",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_PROCID",
                             "SLURM_LOCALID",
                             "SLURM_NODEID"}) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::string> values_;
};

TEST(SessionOptions, AreReadFromTheEnvironment) {
  const Variables variables({{"GRAPHD_SERVER_NAME", "products"},
                             {"GRAPHD_IP_CONFIG", "/w/ip.txt"},
                             {"GRAPHD_PART_CONFIG", "/w/g.json"},
                             {"GRAPHD_STATE_DIR", "/w/state"},
                             {"GRAPHD_JOB_ID", "j1"},
                             {"GRAPHD_SECRET", "/w/secret.key"},
                             {"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"GRAPHD_PART_ID", "2"},
                             {"GRAPHD_NUM_SAMPLERS", "3"},
                             {"GRAPHD_ROW_CACHE", "1.5G"},
                             {"GRAPHD_ROLE", "trainer"},
                             {"GRAPHD_REMOTE_TRAINERS", "2"},
                             {"GRAPHD_TRANSPORT", "tcp"},
                             {"GRAPHD_TIMEOUT", "7"}});
  const Options options = Options::FromEnvironment();
  EXPECT_EQ(options.server_name, "products");
  EXPECT_EQ(options.ip_config, "/w/ip.txt");
  EXPECT_EQ(options.part_config, "/w/g.json");
  EXPECT_EQ(options.state_dir, "/w/state");
  EXPECT_EQ(options.job_id, "j1");
  EXPECT_EQ(options.secret_file, "/w/secret.key");
  EXPECT_EQ(options.rank, 5);
  EXPECT_EQ(options.world_size, 8);
  EXPECT_EQ(options.local_rank, 1);
  EXPECT_EQ(options.local_world_size, 2);
  EXPECT_EQ(options.part, 2);
  EXPECT_EQ(options.role, MachineRole::kTrainer);
  EXPECT_EQ(options.remote_trainers, 2);
  EXPECT_EQ(options.num_samplers, 3);
  EXPECT_EQ(options.row_cache, uint64_t{3} << 29);
  EXPECT_EQ(options.transport, Transport::kTcp);
  EXPECT_EQ(options.timeout, std::chrono::seconds(7));
}

TEST(SessionOptions, WithoutVariablesAreThoseOfASingleTrainer) {
  const Variables none({});
  const Options options = Options::FromEnvironment();
  EXPECT_EQ(options.server_name, "");
  EXPECT_EQ(options.rank, 0);
  EXPECT_EQ(options.world_size, 1);
  EXPECT_EQ(options.transport, Transport::kAuto);
  EXPECT_EQ(options.timeout, std::chrono::seconds(30));
}

TEST(SessionOptions, AnInvalidVariableIsNamedWithItsValue) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"RANK", "x"},
                                          {"WORLD_SIZE", "0"},
                                          {"GRAPHD_NUM_SAMPLERS", "-1"},
                                          {"GRAPHD_ROW_CACHE", "2 elephants"},
                                          {"GRAPHD_TIMEOUT", "0"},
                                          {"GRAPHD_ROLE", "worker"},
                                          {"GRAPHD_REMOTE_TRAINERS", "-2"},
                                          {"GRAPHD_TRANSPORT", "rdma"}}) {
    const Variables variables(std::map<std::string, std::string>{{name, value}});
    try {
      Options::FromEnvironment();
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr(value)));
    }
  }
}

TEST(SessionOptions, ATimeoutOfMoreThanADayIsRefused) {
  const Variables none({});
  Options options = Options::FromEnvironment();
  options.server_name = "nobody";
  options.ip_config = "/nowhere/ip_config.txt";
  const auto refusal = [&](std::chrono::milliseconds timeout) {
    options.timeout = timeout;
    return ErrorOf([&] { Initialize(options); });
  };
  for (const auto timeout : {std::chrono::hours(25), std::chrono::hours(24 * 25),
                             std::chrono::hours(24 * 50), std::chrono::hours(-1)}) {
    EXPECT_THAT(refusal(timeout), HasSubstr("ms: expected 0 to 86400 s; see GRAPHD_TIMEOUT"));
  }
  EXPECT_THAT(refusal(std::chrono::hours(24)), HasSubstr("/nowhere/ip_config.txt"));
}

// Returns "job rank/world local_rank/local_world" of an environment.
std::string TrainerOf(std::map<std::string, std::string> environment) {
  const Variables variables(std::move(environment));
  const Options options = Options::FromEnvironment();
  return StrCat(options.job_id, " ", options.rank, "/", options.world_size, " ", options.local_rank,
                "/", options.local_world_size);
}

TEST(SessionOptions, TorchrunAndOtherLaunchersOfPyTorchNameTheJob) {
  std::map<std::string, std::string> torch{{"RANK", "2"},           {"WORLD_SIZE", "4"},
                                           {"LOCAL_RANK", "0"},     {"LOCAL_WORLD_SIZE", "2"},
                                           {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(TrainerOf(torch), "torch-host:29500 2/4 0/2");
  torch["TORCHELASTIC_RUN_ID"] = "none";
  EXPECT_EQ(TrainerOf(torch), "torch-host:29500 2/4 0/2");
  torch["TORCHELASTIC_RUN_ID"] = "a7";
  EXPECT_EQ(TrainerOf(torch), "torchrun-a7 2/4 0/2");
  torch["GRAPHD_JOB_ID"] = "mine";
  EXPECT_EQ(TrainerOf(torch), "mine 2/4 0/2");
  // A process of its own needs no job.
  EXPECT_EQ(TrainerOf({{"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}}), " 0/1 0/1");
}

TEST(SessionOptions, ATaskOfSrunIsATrainer) {
  std::map<std::string, std::string> task{
      {"SLURM_JOB_ID", "71"},         {"SLURM_STEP_ID", "3"},
      {"SLURM_STEP_NUM_TASKS", "11"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
      {"SLURM_PROCID", "9"},          {"SLURM_LOCALID", "1"},
      {"SLURM_NODEID", "2"}};
  EXPECT_EQ(TrainerOf(task), "slurm-71.3 9/11 1/3");
  task["SLURM_NODEID"] = "1";
  EXPECT_EQ(TrainerOf(task), "slurm-71.3 9/11 1/4");
  task["SLURM_NODEID"] = "9";  // beyond the list
  EXPECT_EQ(TrainerOf(task), "slurm-71.3 9/11 1/2");
  task["SLURM_STEP_TASKS_PER_NODE"] = "11";
  task["SLURM_NODEID"] = "0";
  EXPECT_EQ(TrainerOf(task), "slurm-71.3 9/11 1/11");
  for (const char* list : {"many", "(x2)", "4(x", "4(x)", "4(x0)", "4(x2", "4(x2)3", "4(x-1)", "0",
                           "-4", ",4", "12", "1048577(x2)"}) {
    task["SLURM_STEP_TASKS_PER_NODE"] = list;
    EXPECT_THROW(TrainerOf(task), Error) << list;
  }
  task.erase("SLURM_STEP_TASKS_PER_NODE");
  // A launcher of PyTorch in a task of Slurm has numbered the trainers.
  auto torch = task;
  torch.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(TrainerOf(torch), "slurm-71.3 1/2 0/1");
  torch["TORCHELASTIC_RUN_ID"] = "a7";
  EXPECT_EQ(TrainerOf(torch), "torchrun-a7 1/2 0/1");
  // A batch script is in no step, and an interactive shell in one of Slurm's own.
  task.erase("SLURM_STEP_ID");
  EXPECT_EQ(TrainerOf(task), " 0/1 0/1");
  task["SLURM_STEP_ID"] = "4294967290";
  EXPECT_EQ(TrainerOf(task), " 0/1 0/1");
}

TEST(SessionOptions, SeveralTrainersNeedAJob) {
  const Variables variables(std::map<std::string, std::string>{
      {"GRAPHD_SERVER_NAME", "products"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}});
  try {
    Initialize();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("one of 2 trainers"), HasSubstr("GRAPHD_JOB_ID")));
  }
}

// A graph of two partitions, without servers.
class Alone {
 public:
  Alone() {
    PartitionOptions options;
    options.graph_name = "ring";
    options.num_parts = 2;
    options.method = PartMethod::kRandom;
    options.output = scratch_ / "data";
    part_config_ =
        PartitionGraph(HomogeneousGraph(50, RandomMultigraph(50, 200, 1)), options).part_config;
  }
  const std::string& part_config() const { return part_config_; }

 private:
  ScratchDirectory scratch_;
  std::string part_config_;
};

TEST(SessionOptions, WithoutAServerNameTheSessionIsStandalone) {
  const Alone files;
  const Variables variables({{"GRAPHD_PART_CONFIG", files.part_config()}});
  const auto session = Initialize();
  EXPECT_TRUE(session->is_standalone());
  const DistGraph graph(session, "ring");
  EXPECT_EQ(graph.num_nodes(), 50);
  EXPECT_TRUE(graph.is_mapped(0));
  EXPECT_TRUE(graph.is_mapped(1));
  graph.Barrier();  // The job has one trainer.
  const Variables neither({});
  EXPECT_THROW(Initialize(), Error);
}

TEST(SessionOptions, ThePartOfTheTrainersMachineIsTheLocalPartition) {
  const Alone files;
  for (const char* part : {"0", "1"}) {
    const Variables variables(
        {{"GRAPHD_PART_CONFIG", files.part_config()}, {"GRAPHD_PART_ID", part}});
    EXPECT_EQ(DistGraph(Initialize()).local_partition(), std::stoi(part));
  }
}

TEST(SessionOptions, AMachineThatIpConfigDoesNotNameMustSayThatItOnlyComputes) {
  const ScratchDirectory scratch;
  const std::string ip_config = scratch / "ip.txt";
  // Addresses that belong to no machine (RFC 5737).
  WriteFileAtomically(ip_config, "203.0.113.1\n203.0.113.2\n203.0.113.1\n");
  const auto error_of = [&](std::map<std::string, std::string> more) {
    std::map<std::string, std::string> all{
        {"GRAPHD_SERVER_NAME", "none"}, {"GRAPHD_IP_CONFIG", ip_config}, {"GRAPHD_TIMEOUT", "1"}};
    all.merge(more);
    const Variables variables(all);
    try {
      Initialize();
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
    return std::string("connected");
  };
  const std::string invalid = ErrorCodeName(ErrorCode::kInvalid);
  EXPECT_THAT(error_of({}), AllOf(HasSubstr(invalid + ": "), HasSubstr(ip_config),
                                  HasSubstr(" names 203.0.113.1, 203.0.113.2, and none of"),
                                  HasSubstr("GRAPHD_ROLE=trainer"), HasSubstr("--trainer_hosts")));
  EXPECT_THAT(error_of({{"GRAPHD_ROLE", "host"}}), HasSubstr("GRAPHD_ROLE=trainer"));
  // With the role, or a transport that was chosen, connecting is tried.
  const std::string unavailable = ErrorCodeName(ErrorCode::kUnavailable);
  EXPECT_THAT(error_of({{"GRAPHD_ROLE", "trainer"}}), HasSubstr(unavailable));
  EXPECT_THAT(error_of({{"GRAPHD_TRANSPORT", "tcp"}}), HasSubstr(unavailable));
  EXPECT_THAT(error_of({{"GRAPHD_REMOTE_TRAINERS", "2"}}), HasSubstr("GRAPHD_REMOTE_TRAINERS"));
  // A name that can't be resolved may be this machine's: the error is about the name.
  WriteFileAtomically(ip_config, "no-such-host.invalid\n");
  EXPECT_THAT(error_of({}),
              AllOf(HasSubstr("no-such-host.invalid"), Not(HasSubstr("GRAPHD_ROLE"))));
}

TEST(SessionOptions, InvalidBitsOfVectorsAreRefused) {
  const Alone files;
  const Variables variables(
      {{"GRAPHD_PART_CONFIG", files.part_config()}, {kVectorBitsVariable, "384"}});
  EXPECT_THAT(ErrorOf([] { Initialize(); }), HasSubstr("GRAPHD_VECTOR_BITS '384': use 128"));
}

TEST(SessionOptions, TrainersOfAMachineShareItsPartitions) {
  const Alone files;
  for (const int local_rank : {0, 1, 2}) {
    const Variables variables({{"GRAPHD_PART_CONFIG", files.part_config()},
                               {"LOCAL_RANK", StrCat(local_rank)},
                               {"LOCAL_WORLD_SIZE", "3"}});
    EXPECT_EQ(DistGraph(Initialize()).local_partition(), local_rank % 2);
  }
}

}  // namespace
}  // namespace graphd::testing
