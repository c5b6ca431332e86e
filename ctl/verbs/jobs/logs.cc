// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "ctl/verbs/jobs/job_follower.h"
#include "ctl/verbs/jobs/job_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kLogsExamples = R"(
Shows the output of a job's trainers that is kept on its hosts, also after the job's end: of each
trainer up to 32 MiB. With -f, shows what comes later, too, until the job ends, as `graphctl attach`
does. `graphctl server logs` shows the logs of the servers.

Examples:
  graphctl logs 1120-130501-4711 --ip_config ip_config.txt
  graphctl logs 1120-130501-4711 --lines 20         # on a host of the job
  graphctl logs -f 1120-130501-4711
)";

struct LogsArguments {
  JobOptions job;
  int64_t lines = -1;
  bool follow = false;
};

}  // namespace

void AddLogs(CLI::App& app) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* verb = app.add_subcommand("logs", "Show the output of a job");
  verb->footer(kLogsExamples);
  AddJobOptions(*verb, arguments->job);
  verb->add_option("--lines", arguments->lines,
                   "Show only the last lines of each trainer (default: all that is kept)")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000}));
  verb->add_flag(
      "-f,--follow", arguments->follow,
      "Show what comes later, too, until the job ends; its exit code becomes graphctl's");
  verb->callback([arguments] {
    JobOptions& options = arguments->job;
    const std::vector<HostPlan> hosts = PlanJobHosts(options, HostAction::kFollowJob);
    SetExitCode(JobFollower(hosts, options.hosts,
                            {options.job, true, arguments->lines, arguments->follow},
                            /*tells_news=*/arguments->follow)
                    .Run());
  });
}

}  // namespace graphd::ctl
