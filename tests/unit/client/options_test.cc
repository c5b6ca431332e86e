// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "format/partitioner.h"
#include "graphd/dist_graph.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Sets a trainer's environment variables, and no others, until it is destroyed.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const char* name :
         {"GRAPHD_SERVER_NAME", "GRAPHD_IP_CONFIG", "GRAPHD_PART_CONFIG", "GRAPHD_JOB_ID", "RANK",
          "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GRAPHD_PART_ID", "GRAPHD_NUM_SAMPLERS",
          "GRAPHD_TRANSPORT", "GRAPHD_TIMEOUT", "GRAPHD_STATE_DIR", "GRAPHD_SECRET"}) {
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
  EXPECT_EQ(options.num_samplers, 3);
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
                                          {"GRAPHD_TIMEOUT", "0"},
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

}  // namespace
}  // namespace graphd::testing
