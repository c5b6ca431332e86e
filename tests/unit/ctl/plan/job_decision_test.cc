// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/job_decision.h"

#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using Kind = JobDecision::Kind;

JobHost Host(uint32_t number, JobPhase phase, uint32_t attempt = 0) {
  JobHost host;
  host.host = number;
  host.sequence = 1;
  host.phase = phase;
  host.attempt = attempt;
  return host;
}

JobHost Ended(uint32_t number, JobPhase phase, int code, double at, uint32_t attempt = 0) {
  JobHost host = Host(number, phase, attempt);
  host.code = code;
  host.ended_at = at;
  host.reason = "host " + std::to_string(number);
  return host;
}

TEST(JobDecision, TrainersStartWhenAllHostsAreReady) {
  JobHost master = Host(1, JobPhase::kReady);
  master.port = 4711;
  EXPECT_EQ(Decide({Host(0, JobPhase::kReady)}, 0, 2, 0).kind, Kind::kWait);
  EXPECT_EQ(Decide({Host(0, JobPhase::kReady), Host(1, JobPhase::kPreparing)}, 0, 2, 0).kind,
            Kind::kWait);
  const JobDecision start = Decide({Host(0, JobPhase::kReady), master}, 0, 2, 0);
  EXPECT_EQ(start.kind, Kind::kStart);
  EXPECT_EQ(start.port, 4711);
  // The others may have started before, or even have finished.
  EXPECT_EQ(Decide({Host(0, JobPhase::kReady), Host(1, JobPhase::kRunning)}, 0, 2, 0).kind,
            Kind::kStart);
  EXPECT_EQ(Decide({Host(0, JobPhase::kReady), Host(1, JobPhase::kFinished)}, 0, 2, 0).kind,
            Kind::kStart);
  EXPECT_EQ(Decide({Host(0, JobPhase::kRunning), Host(1, JobPhase::kReady)}, 0, 2, 0).kind,
            Kind::kWait);
}

TEST(JobDecision, TheJobEndsWhenAllHostsHaveFinished) {
  EXPECT_EQ(Decide({Host(0, JobPhase::kFinished), Host(1, JobPhase::kRunning)}, 0, 2, 0).kind,
            Kind::kWait);
  const JobDecision end =
      Decide({Host(0, JobPhase::kFinished), Host(1, JobPhase::kFinished)}, 0, 2, 0);
  EXPECT_EQ(end.kind, Kind::kEnd);
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(Decide({Host(0, JobPhase::kFinished), Host(1, JobPhase::kOver)}, 0, 2, 0).kind,
            Kind::kEnd);
}

TEST(JobDecision, AFailureStartsTheTrainersAgainAsOftenAsAllowed) {
  const auto hosts = [](uint32_t attempt) {
    return std::vector<JobHost>{Host(0, JobPhase::kRunning, attempt),
                                Ended(1, JobPhase::kFailed, 9, 5, attempt)};
  };
  EXPECT_EQ(Decide(hosts(0), 0, 2, 2).kind, Kind::kRestart);
  EXPECT_EQ(Decide(hosts(0), 1, 2, 2).kind, Kind::kRestart);
  EXPECT_EQ(Decide(hosts(1), 0, 2, 2).kind, Kind::kRestart);
  const JobDecision end = Decide(hosts(2), 0, 2, 2);
  EXPECT_EQ(end.kind, Kind::kEnd);
  EXPECT_EQ(end.code, 9);
  EXPECT_EQ(end.reason, "host 1");
}

TEST(JobDecision, HostsFollowTheFirstToAnotherAttempt) {
  const std::vector<JobHost> hosts = {Host(0, JobPhase::kPreparing, 2),
                                      Host(1, JobPhase::kRunning, 0)};
  EXPECT_EQ(Decide(hosts, 1, 2, 0).kind, Kind::kRestart);
  EXPECT_EQ(Decide(hosts, 0, 2, 0).kind, Kind::kWait);
  // Only the first host begins one.
  EXPECT_EQ(Decide({Host(0, JobPhase::kRunning, 0), Host(1, JobPhase::kReady, 1)}, 0, 2, 1).kind,
            Kind::kWait);
}

TEST(JobDecision, AnAttemptStartsAndEndsWithoutHostsThatAreAway) {
  JobHost first = Host(0, JobPhase::kReady, 1);
  first.away = {2};
  const JobHost lost = Host(2, JobPhase::kRunning, 0);
  EXPECT_EQ(Decide({first, Host(1, JobPhase::kReady, 1), lost}, 1, 3, 1).kind, Kind::kStart);
  EXPECT_EQ(Decide({first, Host(1, JobPhase::kPreparing, 1), lost}, 0, 3, 1).kind, Kind::kWait);
  first.phase = JobPhase::kFinished;
  EXPECT_EQ(Decide({first, Host(1, JobPhase::kFinished, 1), lost}, 1, 3, 1).kind, Kind::kEnd);
  // A host that is back waits for the next attempt. If it took part in this one, all others would
  // wait for it.
  const JobHost back = Host(2, JobPhase::kAway, 1);
  EXPECT_EQ(Decide({first, Host(1, JobPhase::kRunning, 1), back}, 2, 3, 1).kind, Kind::kWait);
  first = Host(0, JobPhase::kReady, 2);
  EXPECT_EQ(Decide({first, Host(1, JobPhase::kReady, 2), back}, 0, 3, 1).kind, Kind::kWait);
  EXPECT_EQ(Decide({first, Host(1, JobPhase::kReady, 2), back}, 2, 3, 1).kind, Kind::kRestart);
}

TEST(JobDecision, AttemptsThatAUserAsksForDoNotCount) {
  JobHost first = Host(0, JobPhase::kRunning, 3);
  first.uncounted = 2;
  const JobHost failed = Ended(1, JobPhase::kFailed, 9, 5, 3);
  EXPECT_EQ(CountedRestarts(first), 1u);
  EXPECT_EQ(Decide({first, failed}, 1, 2, 2).kind, Kind::kRestart);
  EXPECT_EQ(Decide({first, failed}, 1, 2, 1).kind, Kind::kEnd);
}

TEST(JobDecision, TheFirstFailureDecidesTheExitCode) {
  const JobDecision end =
      Decide({Ended(0, JobPhase::kFailed, 3, 7.5), Ended(1, JobPhase::kFailed, 4, 7.25)}, 0, 2, 0);
  EXPECT_EQ(end.code, 4);
  EXPECT_EQ(end.ended_at, 7.25);
}

TEST(JobDecision, TheGraceOfARestartIsNotThatOfALaterFailure) {
  JobHost failed = Ended(0, JobPhase::kFailed, 3, 7.5, 1);
  failed.grace = 60;  // the first host's plan for this attempt had it
  const JobDecision end = Decide({failed, Host(1, JobPhase::kRunning, 1)}, 1, 2, 0);
  EXPECT_EQ(end.kind, Kind::kEnd);
  EXPECT_EQ(end.grace, 0);
}

TEST(JobDecision, AStopEndsTheJobWhateverAttemptsAreLeft) {
  JobHost stopped = Ended(1, JobPhase::kStopped, 143, 5);
  stopped.grace = 30;
  const JobDecision end = Decide({Host(0, JobPhase::kReady), stopped}, 0, 3, 10);
  EXPECT_EQ(end.kind, Kind::kEnd);
  EXPECT_EQ(end.code, 143);
  EXPECT_EQ(end.grace, 30);
}

TEST(JobDecision, AHostThatHasSaidNothingWaits) {
  EXPECT_EQ(Decide({}, 0, 1, 0).kind, Kind::kWait);
  EXPECT_EQ(Decide({Host(1, JobPhase::kReady)}, 0, 1, 0).kind, Kind::kWait);
}

TEST(JobDecision, OnlyLaterReportsReplaceEarlierOnes) {
  std::vector<JobHost> known;
  EXPECT_TRUE(MergeHosts(known, {Host(0, JobPhase::kReady), Host(1, JobPhase::kReady)}));
  EXPECT_FALSE(MergeHosts(known, {Host(0, JobPhase::kRunning)}));
  EXPECT_EQ(known[0].phase, JobPhase::kReady);
  JobHost later = Host(0, JobPhase::kRunning);
  later.sequence = 2;
  EXPECT_TRUE(MergeHosts(known, {later}));
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].phase, JobPhase::kRunning);
}

}  // namespace
}  // namespace graphd::ctl
