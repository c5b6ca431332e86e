// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/jobs/job_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kStopExamples = R"(
The server keeps running; `graphctl server stop` stops it. `graphctl ps` shows jobs. On a host of a
detached job, its id is enough.

Examples:
  graphctl stop --server_name products --ip_config ip_config.txt            # every job
  graphctl stop 1120-130501-4711 --server_name products --ip_config ip_config.txt --grace 60
)";

struct StopArguments {
  HostOptions hosts;
  std::vector<std::string> jobs;  // each one that was given; all must be the same
  double grace = 0;
};

// Returns the job that was given; an empty text if none was given, which means all jobs.
std::string JobOf(const StopArguments& arguments) {
  std::string job;
  for (const std::string& given : arguments.jobs) {
    if (!job.empty() && given != job) {
      Throw(ErrorCode::kInvalid, "two jobs are given, ", job, " and ", given,
            "; stop one after the other, or leave out both to end all jobs of the server");
    }
    job = given;
  }
  return job;
}

void Stop(StopArguments& arguments) {
  HostOptions& options = arguments.hosts;
  const std::string job_id = JobOf(arguments);
  Resolve(options);
  TakeFromJob(job_id, options);
  const bool is_guess = options.lines.empty();
  if (is_guess) options.lines = ParseIpConfig("127.0.0.1", "default");
  auto plan = PlanHosts(options.server, options.lines, IsLocalAddress, HostAction::kStopJobs);
  for (HostPlan& host : plan) {
    host.order.stop_job = job_id;
    host.order.stop_grace = arguments.grace;
  }
  const std::vector<HostAnswer> answers = AskHosts(plan, options);
  std::set<std::string> stopped;
  int code = 0;
  bool had_ended = false;
  std::string absent;  // the reason if a host has no server
  for (size_t i = 0; i < plan.size(); i++) {
    if (!answers[i].ok) {
      std::fprintf(stderr, "graphctl: %s: %s\n", plan[i].name.c_str(), answers[i].error.c_str());
      if (code == 0) code = ExitCode(answers[i].code);
    }
    for (const nlohmann::json& frame : answers[i].frames) {
      if (ValueOr(frame, "t", "") == "stopped_job") stopped.insert(ValueOr(frame, "job", "?"));
      if (ValueOr(frame, "t", "") == "ended_job") had_ended = true;
      if (ValueOr(frame, "t", "") == "no_server") absent = ValueOr(frame, "text", "no server");
    }
  }
  for (const std::string& job : stopped) std::printf("stopped job %s\n", job.c_str());
  if (stopped.empty() && code == 0 && had_ended) {
    std::printf("job %s had ended already; `graphctl wait %s` says how\n", job_id.c_str(),
                job_id.c_str());
  } else if (stopped.empty() && code == 0) {
    if (!absent.empty() && is_guess && !job_id.empty()) {
      Throw(ErrorCode::kUnavailable, "this host does not know job ", job_id, ", and ", absent,
            "; give --ip_config, the file that the job was launched with, so that its hosts are ",
            "asked");
    }
    if (!absent.empty()) Throw(ErrorCode::kUnavailable, absent);
    if (!job_id.empty()) {
      Throw(ErrorCode::kNotFound, "server '", options.server.server_name, "' has no job '", job_id,
            "'; `graphctl ps` shows its jobs");
    }
    std::printf("server '%s' has no job\n", options.server.server_name.c_str());
  }
  SetExitCode(code);
}

}  // namespace

void AddStop(CLI::App& app) {
  auto arguments = std::make_shared<StopArguments>();
  CLI::App* verb = app.add_subcommand("stop", "End jobs");
  verb->footer(kStopExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  verb->add_option("JOB,--job", arguments->jobs, "End only this job")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--grace", arguments->grace,
                   "Seconds that the trainers of a detached job have from SIGTERM to SIGKILL "
                   "(default: 0.6)")
      ->check(CLI::Range(0.0, 86400.0));
  verb->callback([arguments] { Stop(*arguments); });
}

}  // namespace graphd::ctl
