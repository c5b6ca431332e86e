// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/slurm_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Three nodes with a network for users and a fast one; all have a bridge of the same address.
SlurmNodes ThreeNodes() {
  return {"71",
          {{"a", {"172.17.0.1", "10.0.0.1", "192.168.0.1"}},
           {"b", {"172.17.0.1", "10.0.0.2", "192.168.0.2"}},
           {"c", {"172.17.0.1", "10.0.0.3", "192.168.0.3"}}}};
}

std::vector<std::string> LookUp(const std::string& address) {
  if (address == "a") return {"10.0.0.1"};
  if (address == "b") return {"10.0.0.2"};
  if (address == "c") return {"10.0.0.3"};
  if (address == "b-fast") return {"192.168.0.2"};
  if (address == "unknown") return {};
  return {address};
}

TEST(SlurmNodes, AreFoundByNameAndByEachAddress) {
  const SlurmNodes job = ThreeNodes();
  for (const char* address : {"b", "10.0.0.2", "192.168.0.2", "b-fast"}) {
    EXPECT_EQ(NodeOf(address, "ip_config", job, LookUp).name, "b") << address;
  }
}

TEST(SlurmNodes, AddressesThatSeveralHaveNameNone) {
  SlurmNodes job = ThreeNodes();
  job.nodes[2].addresses = {"172.17.0.1", "172.17.0.1"};
  RemoveSharedAddresses(job);
  EXPECT_THAT(job.nodes[0].addresses, ElementsAre("10.0.0.1", "192.168.0.1"));
  EXPECT_TRUE(job.nodes[2].addresses.empty());
  EXPECT_THROW(NodeOf("172.17.0.1", "ip_config", job, LookUp), Error);
  // The lookup of a node's own name there gives all addresses of its interfaces.
  const auto look_up = [](const std::string& address) -> std::vector<std::string> {
    if (address == "b") return {"172.17.0.1", "10.0.0.2", "192.168.0.2"};
    return {};
  };
  EXPECT_EQ(IpConfigOf(job, 3, look_up), "10.0.0.1\n10.0.0.2\nc\n");
  try {
    NodeOf("d", "ip_config", job, look_up);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("b (10.0.0.2 192.168.0.2), c;"));
  }
}

TEST(SlurmNodes, AHostOfNoNodeIsRefusedWithTheNodes) {
  for (const char* address : {"10.0.0.4", "unknown"}) {
    try {
      NodeOf(address, "gpus.txt line 3", ThreeNodes(), LookUp);
      FAIL() << address;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("gpus.txt line 3 names "), HasSubstr(address),
                                      HasSubstr("job 71"), HasSubstr("c (172.17.0.1 10.0.0.3")));
    }
  }
}

TEST(SlurmNodes, OfALargeJobOnlySomeAreListed) {
  SlurmNodes job{"7", {}};
  for (int i = 0; i < 100; i++) job.nodes.push_back({"n" + std::to_string(i), {}});
  try {
    NodeOf("unknown", "ip_config", job, LookUp);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("n7,"), Not(HasSubstr("n8,")), HasSubstr("and 92 more")));
  }
}

TEST(SlurmNodes, PartitionsAreDividedAmongTheFirstNodes) {
  const SlurmNodes job = ThreeNodes();
  EXPECT_EQ(IpConfigOf(job, 1, LookUp), "10.0.0.1\n");
  EXPECT_EQ(IpConfigOf(job, 3, LookUp), "10.0.0.1\n10.0.0.2\n10.0.0.3\n");
  EXPECT_EQ(IpConfigOf(job, 5, LookUp), "10.0.0.1\n10.0.0.1\n10.0.0.2\n10.0.0.2\n10.0.0.3\n");
}

TEST(SlurmNodes, OthersRunTrainersOnly) {
  const auto others = OtherNodes(
      ThreeNodes(), ParseIpConfig("b-fast 30050\n192.168.0.2 30051\n", "ip.txt"), LookUp);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].address, "10.0.0.1");
  EXPECT_EQ(others[1].address, "10.0.0.3");
  EXPECT_FALSE(others[1].num_trainers.has_value());
}

TEST(SlurmNodes, AreAssignedToAllHostsOfAPlan) {
  LaunchOptions options;
  options.command = {{"true"}, true};
  options.host_timeout = 9;
  options.trainer_hosts = {{"c", std::nullopt, "gpus.txt line 1"}};
  LaunchPlan plan =
      MakeLaunchPlan(options, ParseIpConfig("192.168.0.1\n10.0.0.2\n", "ip.txt"), "", "j", "s",
                     [](const std::string& address) { return address == "192.168.0.1"; });
  EXPECT_EQ(plan.hosts[0].order.host_timeout, 0);
  AssignNodes(ThreeNodes(), 9, LookUp, plan);
  EXPECT_EQ(plan.hosts[0].node, "a");
  EXPECT_EQ(plan.hosts[1].node, "b");
  EXPECT_EQ(plan.hosts[2].node, "c");
  EXPECT_EQ(plan.hosts[0].order.host_timeout, 9);
  EXPECT_THAT(PlanToText(plan), HasSubstr("(by srun, on node a)"));
  EXPECT_THAT(PlanToJson(plan), HasSubstr("\"node\": \"c\""));
  plan.hosts[2].order.server.address = "10.0.0.9";
  try {
    AssignNodes(ThreeNodes(), 9, LookUp, plan);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("gpus.txt line 1 names 10.0.0.9"));
  }
}

}  // namespace
}  // namespace graphd::ctl
