// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "ctl/verbs/jobs/job_follower.h"
#include "ctl/verbs/jobs/job_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kAttachExamples = R"(
Shows the last lines of each trainer and what comes later, until the job ends; its exit code becomes
graphctl's. Ctrl-C ends graphctl alone, and the job goes on.

Examples:
  graphctl attach 1120-130501-4711 --ip_config ip_config.txt
  graphctl attach 1120-130501-4711         # on a host of the job
)";

struct AttachArguments {
  JobOptions job;
  int64_t lines = 10;
};

}  // namespace

void AddAttach(CLI::App& app) {
  auto arguments = std::make_shared<AttachArguments>();
  CLI::App* verb = app.add_subcommand("attach", "Watch a detached job until it ends");
  verb->footer(kAttachExamples);
  AddJobOptions(*verb, arguments->job);
  verb->add_option("--lines", arguments->lines, "Show this many earlier lines of each trainer")
      ->default_val(10)
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000}));
  verb->callback([arguments] {
    JobOptions& options = arguments->job;
    const std::vector<HostPlan> hosts = PlanJobHosts(options, HostAction::kFollowJob);
    SetExitCode(JobFollower(hosts, options.hosts, {options.job, true, arguments->lines, true},
                            /*tells_news=*/true)
                    .Run());
  });
}

}  // namespace graphd::ctl
