// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/torchrun_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LaunchPlan PlanOf(const UserCommand& command, const char* lines = "a\nb 30050 0\na\n") {
  LaunchOptions options;
  options.command = command;
  options.num_trainers = 2;
  options.trainer_hosts = {{"c", 4, "gpus.txt line 1"}};
  LaunchPlan plan = MakeLaunchPlan(options, ParseIpConfig(lines, "ip.txt"), "", "j-1", "s",
                                   [](const std::string&) { return false; });
  RunUnderTorchrun(plan);
  return plan;
}

TEST(TorchrunPlan, EachHostWithTrainersHasOneProcess) {
  const LaunchPlan plan = PlanOf({{"python3", "train.py", "it's"}, false});
  ASSERT_EQ(plan.hosts.size(), 3u);
  EXPECT_EQ(plan.world_size, 8);
  ASSERT_EQ(plan.hosts[0].order.trainers.size(), 1u);
  EXPECT_EQ(plan.hosts[0].order.trainers[0].label, "a");
  EXPECT_EQ(plan.hosts[0].order.job.command.words[0],
            "exec torchrun --nnodes 2 --nproc_per_node 4 --node_rank 0 --rdzv_id j-1 "
            "--master_addr \"$MASTER_ADDR\" --master_port \"$MASTER_PORT\" --no_python "
            "python3 train.py 'it'\\''s'");
  EXPECT_TRUE(plan.hosts[0].order.job.command.is_shell);
  EXPECT_TRUE(plan.hosts[1].order.trainers.empty());
  EXPECT_THAT(plan.hosts[2].order.job.command.words[0],
              HasSubstr("--nproc_per_node 4 --node_rank 1 "));
  EXPECT_EQ(plan.hosts[2].order.trainers[0].rank, 4);
  const HostOrder sent = DecodeOrder(EncodeOrder(plan.hosts[2].order));
  EXPECT_EQ(TrainerName(sent, 4), "torchrun");
  EXPECT_EQ(TrainerName(HostOrder{}, 4), "trainer 4");
}

TEST(TorchrunPlan, NodeZeroIsTheMastersHost) {
  const LaunchPlan plan = PlanOf({{"true"}, false}, "a 30050 0\nb\na\n");
  EXPECT_EQ(plan.master_addr, "b");
  const char* const ranks[] = {"--nnodes 3 --nproc_per_node 2 --node_rank 1 ",
                               "--nproc_per_node 2 --node_rank 0 ",
                               "--nproc_per_node 4 --node_rank 2 "};
  for (size_t i = 0; i < 3; i++) {
    EXPECT_THAT(plan.hosts[i].order.job.command.words[0], HasSubstr(ranks[i]));
  }
}

TEST(TorchrunPlan, AShellProgramIsRunByAShell) {
  const LaunchPlan plan = PlanOf({{"cd x && python3 train.py"}, true});
  EXPECT_THAT(plan.hosts[0].order.job.command.words[0],
              HasSubstr(" --no_python /bin/sh -c 'cd x && python3 train.py'"));
}

TEST(TorchrunPlan, TrainersHaveNoPartitionOfTheirOwn) {
  const LaunchPlan plan = PlanOf({{"true"}, true});
  const HostOrder& order = plan.hosts[0].order;
  for (const auto& [name, value] : TrainerEnvironment(order, order.trainers[0], 1, 1, "ip.txt")) {
    if (name == "GRAPHD_PART_ID") {
      EXPECT_EQ(value, "");
    } else if (name == "GRAPHD_ROLE") {
      EXPECT_EQ(value, "host");
    }
  }
  const std::string text = PlanToText(plan);
  EXPECT_THAT(text, HasSubstr("  trainer: rank 0, local rank 0\n  command, by /bin/sh: exec "));
  EXPECT_THAT(text, HasSubstr("--node_rank 1"));
  EXPECT_THAT(text, Not(HasSubstr("partition -1")));
  EXPECT_THAT(PlanToJson(plan), HasSubstr("--node_rank 1"));
}

}  // namespace
}  // namespace graphd::ctl
