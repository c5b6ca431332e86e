// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/attempt_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/plan/job_decision.h"
#include "ctl/plan/trainer_slots.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns a job with a partition on host 0, and hosts 1 and 2 that only compute.
JobSpec JobNeeding(int min_trainers) {
  JobSpec job;
  job.job_id = "job";
  job.min_trainers = min_trainers;
  job.slots = {{0, "a", 0, 0, 1}, {1, "b", -1, 1, 2}, {2, "c", -1, 2, 2}};
  return job;
}

JobHost HostIn(uint32_t number, JobPhase phase, uint32_t attempt) {
  JobHost host;
  host.host = number;
  host.phase = phase;
  host.attempt = attempt;
  return host;
}

std::vector<JobHost> AllRunning(uint32_t attempt) {
  return {HostIn(0, JobPhase::kRunning, attempt), HostIn(1, JobPhase::kRunning, attempt),
          HostIn(2, JobPhase::kRunning, attempt)};
}

TEST(AttemptPlan, SilentHostsThatOnlyComputeAreAbsent) {
  const JobSpec job = JobNeeding(1);
  EXPECT_THAT(AbsentHosts(AllRunning(0), job, {{}, {}}), IsEmpty());
  EXPECT_THAT(AbsentHosts(AllRunning(0), job, {{0, 2}, {0, 2}}), ElementsAre(2));
  EXPECT_THAT(AbsentHosts(AllRunning(0), job, {{}, {2}}), IsEmpty());  // it is only slow
}

TEST(AttemptPlan, AHostThatHasLeftIsAbsent) {
  std::vector<JobHost> hosts = AllRunning(0);
  hosts[1].phase = JobPhase::kLeft;
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), ElementsAre(1));
  // The supervisor of one that waits in the attempt was started again: its user will ask for
  // another attempt.
  hosts[1].phase = JobPhase::kAway;
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), ElementsAre(1));
  EXPECT_THAT(HostsThatAreBack(hosts, JobNeeding(1), {}), IsEmpty());
}

TEST(AttemptPlan, AHostThatWasCutOffForAWhileIsNotLost) {
  std::vector<JobHost> hosts = AllRunning(2);
  EXPECT_THAT(HostsThatAreBack(hosts, JobNeeding(1), {}), IsEmpty());
  hosts[1].phase = JobPhase::kAway;
  hosts[1].reason = "it was cut off";
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), IsEmpty());
  EXPECT_THAT(HostsThatAreBack(hosts, JobNeeding(1), {}), ElementsAre(1));
  // It is cut off again.
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {{}, {1}}), ElementsAre(1));
  EXPECT_THAT(HostsThatAreBack(hosts, JobNeeding(1), {{}, {1}}), IsEmpty());
  // Another attempt takes it in, so that it is not found once more.
  hosts[0] = PlanAttempt(hosts[0], JobNeeding(1), {1, 2, 2}, {}, false);
  EXPECT_THAT(HostsThatAreBack(hosts, JobNeeding(1), {}), IsEmpty());
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), IsEmpty());
  hosts[0] = PlanAttempt(hosts[0], JobNeeding(1), {1, 2, 2}, {1}, false);
  EXPECT_THAT(HostsThatAreBack(hosts, JobNeeding(1), {}), IsEmpty());
}

TEST(AttemptPlan, AHostThatIsBackTakesPartInTheNextAttempt) {
  std::vector<JobHost> hosts = AllRunning(1);
  hosts[0].away = {2};
  hosts[2].attempt = 0;
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {{2}, {2}}), ElementsAre(2));
  // After the daemon's restart, nobody has been silent for long.
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), ElementsAre(2));
  hosts[2] = HostIn(2, JobPhase::kAway, 1);
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {{}, {2}}), ElementsAre(2));
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), IsEmpty());
  // It takes part, although it has not learnt that yet.
  hosts[0] = PlanAttempt(hosts[0], JobNeeding(1), {1, 2, 2}, {}, false);
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {}), IsEmpty());
}

TEST(AttemptPlan, ItSaysWhoTakesPart) {
  const JobHost first = HostIn(0, JobPhase::kRunning, 4);
  const JobHost next = PlanAttempt(first, JobNeeding(3), {1, 2, 2}, {1}, true);
  EXPECT_THAT(next.trainers, ElementsAre(1, 0, 2));
  EXPECT_THAT(next.away, ElementsAre(1));
  EXPECT_EQ(next.attempt, 5u);
  EXPECT_EQ(CountedRestarts(next), 5u);
  const JobHost asked = PlanAttempt(next, JobNeeding(3), {3, 3, 3}, {}, false);
  EXPECT_THAT(asked.trainers, ElementsAre(3, 3, 3));
  EXPECT_THAT(asked.away, IsEmpty());
  EXPECT_EQ(CountedRestarts(asked), 5u);
}

TEST(AttemptPlan, AHostWhoseTrainersHaveFinishedIsNotMissed) {
  std::vector<JobHost> hosts = AllRunning(0);
  hosts[2].phase = JobPhase::kFinished;
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {{2}, {2}}), IsEmpty());
  hosts[0].attempt = 1;  // they would have to run again
  EXPECT_THAT(AbsentHosts(hosts, JobNeeding(1), {{2}, {2}}), ElementsAre(2));
}

TEST(AttemptPlan, AUserChangesTheNumberWhereThereAreTrainers) {
  EXPECT_THAT(WithTrainers({0, 2, 1}, JobNeeding(1), 3), ElementsAre(0, 3, 3));
  EXPECT_THAT(WithTrainers({0, 2, 1}, JobNeeding(1), 0), ElementsAre(0, 2, 1));
  EXPECT_THROW(WithTrainers({0, 2, 1}, JobNeeding(1), kMaxTrainersPerSlot + 1), Error);
  EXPECT_THROW(WithTrainers({0, 2, 1}, JobNeeding(1), -1), Error);
  // The trainers of torchrun are numbered by it.
  EXPECT_THAT(WithTrainers({}, JobNeeding(0), 0), IsEmpty());
  EXPECT_THROW(WithTrainers({}, JobNeeding(0), 2), Error);
}

TEST(AttemptPlan, TooFewTrainersAreRefused) {
  const JobHost first = HostIn(0, JobPhase::kRunning, 0);
  EXPECT_THROW(PlanAttempt(first, JobNeeding(4), {1, 2, 2}, {1}, true), Error);
  EXPECT_THROW(PlanAttempt(first, JobNeeding(1), {0, 2, 2}, {1, 2}, true), Error);
  // The trainers of torchrun are none of ours.
  EXPECT_EQ(PlanAttempt(first, JobNeeding(0), {}, {}, true).attempt, 1u);
}

TEST(AttemptPlan, AnAttemptIsDescribedWithTheRestartsThatCount) {
  EXPECT_EQ(AttemptText(1, 0, 0), "with 1 trainer");
  EXPECT_EQ(AttemptText(4, 1, 1), "with 4 trainers; 1 of 1 restart of --max_restarts is used");
  EXPECT_EQ(AttemptText(2, 0, 3), "with 2 trainers; 0 of 3 restarts of --max_restarts are used");
}

}  // namespace
}  // namespace graphd::ctl
