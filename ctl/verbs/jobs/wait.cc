// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "ctl/verbs/jobs/job_follower.h"
#include "ctl/verbs/jobs/job_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kWaitExamples = R"(
Waits until the job has ended, says how, and exits with its exit code. A job that has ended already
is not an error.

Examples:
  graphctl wait 1120-130501-4711 --ip_config ip_config.txt && echo trained
)";

}  // namespace

void AddWait(CLI::App& app) {
  auto options = std::make_shared<JobOptions>();
  CLI::App* verb = app.add_subcommand("wait", "Wait for the end of a detached job");
  verb->footer(kWaitExamples);
  AddJobOptions(*verb, *options);
  verb->callback([options] {
    const std::vector<HostPlan> hosts = PlanJobHosts(*options, HostAction::kFollowJob);
    SetExitCode(JobFollower(hosts, options->hosts, {options->job, false, 0, true},
                            /*tells_news=*/true)
                    .Run());
  });
}

}  // namespace graphd::ctl
