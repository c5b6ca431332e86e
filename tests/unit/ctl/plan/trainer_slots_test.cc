// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/trainer_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/plan/launch_plan.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the plan of a job with a trainer in each of two partitions and two on a third host.
LaunchPlan ThreeHosts() {
  LaunchOptions options;
  options.server.server_name = "s";
  options.workspace = "/w";
  options.command = {{"true"}, true};
  options.trainer_hosts = {{"10.0.0.3", 2, "gpus.txt line 1"}};
  const std::string lines = "10.0.0.1\n10.0.0.2\n";
  return MakeLaunchPlan(options, ParseIpConfig(lines, "ip_config"), lines, "job", "a secret",
                        [](const std::string&) { return false; });
}

std::vector<int> RanksOf(const HostOrder& order) {
  std::vector<int> ranks;
  for (const TrainerPlan& trainer : order.trainers) ranks.push_back(trainer.rank);
  return ranks;
}

TEST(TrainerSlots, TheNumbersOfTheLaunchGiveItsRanks) {
  for (const HostPlan& host : ThreeHosts().hosts) {
    HostOrder order = DecodeOrder(EncodeOrder(host.order));
    AssignTrainers(TrainersAtLaunch(order.job), order);
    EXPECT_EQ(EncodeOrder(order), EncodeOrder(host.order));
  }
}

TEST(TrainerSlots, AnotherAttemptHasMoreTrainers) {
  LaunchPlan plan = ThreeHosts();
  for (HostPlan& host : plan.hosts) AssignTrainers({3, 3, 3}, host.order);
  EXPECT_THAT(RanksOf(plan.hosts[0].order), ElementsAre(0, 1, 2));
  EXPECT_THAT(RanksOf(plan.hosts[1].order), ElementsAre(3, 4, 5));
  const HostOrder& third = plan.hosts[2].order;
  EXPECT_THAT(RanksOf(third), ElementsAre(6, 7, 8));
  EXPECT_EQ(third.trainers[2].local_rank, 2);
  EXPECT_EQ(third.trainers[2].local_world_size, 3);
  EXPECT_EQ(third.trainers[2].label, "10.0.0.3:8");
  EXPECT_EQ(third.trainers_on_machine, 3);
  EXPECT_EQ(third.job.world_size, 9);
  EXPECT_EQ(third.job.remote_trainers, 3);
}

TEST(TrainerSlots, AnotherAttemptHasFewerHosts) {
  LaunchPlan plan = ThreeHosts();
  const JobSpec& job = plan.hosts[0].order.job;
  EXPECT_TRUE(OnlyComputes(job, 2));
  EXPECT_FALSE(OnlyComputes(job, 1));
  const std::vector<uint32_t> left = WithoutHosts(TrainersAtLaunch(job), job, {2});
  EXPECT_THAT(left, ElementsAre(1, 1, 0));
  for (HostPlan& host : plan.hosts) AssignTrainers(left, host.order);
  EXPECT_THAT(RanksOf(plan.hosts[1].order), ElementsAre(1));
  EXPECT_THAT(RanksOf(plan.hosts[2].order), IsEmpty());
  EXPECT_EQ(plan.hosts[1].order.job.world_size, 2);
  EXPECT_EQ(plan.hosts[1].order.job.remote_trainers, 0);
}

TEST(TrainerSlots, TheHostOfRankZeroMayChange) {
  LaunchPlan plan = ThreeHosts();
  for (HostPlan& host : plan.hosts) AssignTrainers({0, 0, 2}, host.order);
  EXPECT_FALSE(plan.hosts[0].order.is_master);
  EXPECT_TRUE(plan.hosts[2].order.is_master);
  EXPECT_EQ(plan.hosts[0].order.job.master_addr, "10.0.0.3");
}

TEST(TrainerSlots, NumbersThatDoNotFitTheJobAreRefused) {
  HostOrder order = ThreeHosts().hosts[0].order;
  EXPECT_THROW(AssignTrainers({1, 1}, order), Error);
  EXPECT_THROW(AssignTrainers({1, 1, kMaxTrainersPerSlot + 1}, order), Error);
  EXPECT_THROW(AssignTrainers({0, 0, 0}, order), Error);
  EXPECT_THAT(RanksOf(order), ElementsAre(0));
}

TEST(JobOrder, OnlyRunsTheJobThatWasAskedFor) {
  HostOrder told;
  told.action = HostAction::kInstallKeys;
  told.job.job_id = "1120-1";
  EXPECT_EQ(DecodeJobOrder(EncodeOrder(told), "1120-1").action, HostAction::kRun);
  EXPECT_THROW(DecodeJobOrder(EncodeOrder(told), "1120-2"), Error);
}

}  // namespace
}  // namespace graphd::ctl
