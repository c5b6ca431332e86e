// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/jobs/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "ctl/supervise/job_directory.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class JobOptionsTest : public ::testing::Test {
 protected:
  JobOptionsTest() {
    ::setenv("GRAPHD_JOBS_DIR", scratch_.path().c_str(), 1);
    ::unsetenv("GRAPHD_RUNTIME_DIR");
    options_.job = "1120-1";
    options_.hosts.server.server_name = "default";
  }
  ~JobOptionsTest() override { ::unsetenv("GRAPHD_JOBS_DIR"); }
  std::string Says() {
    return ErrorOf([this] { PlanJobHosts(options_, HostAction::kStopJobs); });
  }
  ScratchDirectory scratch_;
  JobOptions options_;
};

const nlohmann::json kState = {{"server_name", "products"},
                               {"runtime_dir", "/run/of_job"},
                               {"ip_config_text", "10.0.0.1 30050 2\n10.0.0.2\n"},
                               {"trainer_hosts", {"10.0.0.9"}}};

TEST_F(JobOptionsTest, AJobKnowsItsHosts) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  made.WriteState(kState);
  const std::vector<HostPlan> plan = PlanJobHosts(options_, HostAction::kStopJobs);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].order.server.address, "10.0.0.1");
  EXPECT_EQ(plan[1].order.server.address, "10.0.0.2");
  EXPECT_EQ(plan[2].order.server.address, "10.0.0.9");
  EXPECT_TRUE(plan[2].order.only_trainers);
  for (const HostPlan& host : plan) {
    EXPECT_EQ(host.order.server.server_name, "products");
    EXPECT_EQ(host.order.server.runtime_dir, "/run/of_job");
  }
}

TEST_F(JobOptionsTest, AGivenIpConfigIsPreferred) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  made.WriteState(kState);
  options_.hosts.ip_config = scratch_ / "ip.txt";
  WriteFileAtomically(options_.hosts.ip_config, "10.0.0.7\n");
  const std::vector<HostPlan> plan = PlanJobHosts(options_, HostAction::kStopJobs);
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].order.server.address, "10.0.0.7");
  EXPECT_EQ(plan[0].order.server.server_name, "default");
}

TEST_F(JobOptionsTest, AJobThatThisHostDoesNotKnowNeedsAnIpConfig) {
  EXPECT_THAT(Says(),
              StartsWith("not_found: this host does not know job 1120-1; give --ip_config"));
  options_.job = "../1120-1";
  EXPECT_THAT(Says(), AllOf(StartsWith("invalid: "), HasSubstr("../1120-1")));
}

TEST_F(JobOptionsTest, AStateWithoutHostsIsAnErrorThatNamesTheJob) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  EXPECT_THAT(Says(), StartsWith("not_found: "));  // the state was not written yet
  nlohmann::json state = kState;
  state["ip_config_text"] = "10.0.0.1 99999\n";
  made.WriteState(state);
  EXPECT_THAT(Says(), AllOf(HasSubstr("the ip_config of job 1120-1"), HasSubstr("99999")));
  state["ip_config_text"] = 7;
  state["trainer_hosts"] = {1, 2};
  made.WriteState(state);
  EXPECT_THAT(Says(), HasSubstr("the ip_config of job 1120-1"));
}

}  // namespace
}  // namespace graphd::ctl
